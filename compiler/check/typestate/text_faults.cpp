#include "compiler/check/typestate/text_faults.h"

#include <algorithm>

#include "compiler/check/typestate/group_index.h"
#include "compiler/operations/table.h"

namespace loop::check {
namespace {

using diagnostics::Code;
using operations::GradientEffect;
using plan::OpKind;

/// The first group in both lists, which ascend; -1 without one.
int shared_group(const std::vector<int>& a, const std::vector<int>& b) {
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    if (*x == *y) return *x;
    *x < *y ? ++x : ++y;
  }
  return -1;
}

/// The operations behind the i-th that act on one of the groups, in the order of the text.
std::vector<int> later_in(const ByGroup& operations, const std::vector<int>& groups, int i) {
  std::vector<int> later;
  for (const int group : groups) {
    const std::vector<int>& all = operations[static_cast<size_t>(group)];
    later.insert(later.end(), std::upper_bound(all.begin(), all.end(), i), all.end());
  }
  std::sort(later.begin(), later.end());
  later.erase(std::unique(later.begin(), later.end()), later.end());
  return later;
}

/// Two clips of one kind, or two steps, on one group that say different things: nobody can tell which is
/// meant.
void report_disagreements(const sema::Spec& spec, Repairs& repairs, diagnostics::Engine& engine) {
  const std::vector<const sema::Operation*> all = all_operations(spec);
  const GroupIndex groups(spec);
  const ByGroup clips = operations_by_group(spec, groups, all, GradientEffect::clips);
  const ByGroup steps = operations_by_group(spec, groups, all, GradientEffect::applies);
  for (size_t i = 0; i < all.size(); ++i) {
    const plan::Operation& first = all[i]->op;
    const GradientEffect effect = operations::entry(first.kind).gradient_effect;
    if (effect != GradientEffect::clips && effect != GradientEffect::applies) continue;
    if (repairs.disabled.count(all[i])) continue;
    const std::vector<int> own = groups.groups_of(first);
    for (const int j : later_in(effect == GradientEffect::clips ? clips : steps, own, static_cast<int>(i))) {
      const plan::Operation& second = all[j]->op;
      if (second.kind != first.kind || repairs.disabled.count(all[j])) continue;
      const bool same = effect == GradientEffect::clips
                            ? first.limit == second.limit && first.groups == second.groups
                            : first.rule == second.rule;
      if (same) continue;
      const std::string& group = spec.groups[shared_group(own, groups.groups_of(second))].group.name;
      Finding finding =
          effect == GradientEffect::clips
              ? Finding(Code::L134, all[j]->span, {first.kind == OpKind::clip_norm ? "norm" : "value", group})
              : Finding(Code::L141, all[j]->span, {group});
      finding.also(all[i]->span, "the other one")
          .help("keep one of them, or give each its own groups with `on`");
      report(finding, engine);
      repairs.disabled.insert(all[j]);
      if (effect == GradientEffect::applies) repairs.steps = true;
    }
  }
}

/// "tokens, all of them", "tokens but those equal to -100".
std::string count_words(const plan::CountClass& count_class) {
  const std::string unit = plan::name(count_class.unit);
  if (!count_class.ignore) return unit;
  return unit + " with `ignore: " + plan::to_text(plan::Expression::constant(*count_class.ignore)) + "`";
}

Finding several_counts(const sema::Spec& spec, const sema::Operation& normalize) {
  Finding finding(Code::L307, normalize.span, {std::to_string(spec.count_classes.size())});
  bool masks_differ = false;
  for (const sema::LossTerm& term : spec.terms) {
    const plan::CountClass& own = spec.count_classes.at(term.term.count_class);
    for (const plan::CountClass& other : spec.count_classes)
      masks_differ = masks_differ || (own.unit == other.unit && own.ignore != other.ignore);
    finding.also(term.span, "counts " + count_words(own));
  }
  if (masks_differ) finding.help("give terms of one unit the same `ignore`: they then share a count");
  return finding.help(
      "write `loss(normalized)` in `micro`, which divides every term by its own count, and no `normalize`");
}

}  // namespace

void report_text_faults(const sema::Spec& spec, Repairs& repairs, diagnostics::Engine& engine) {
  const bool manual = spec.window.sync.value == plan::Sync::manual;
  for (const sema::Operation* operation : all_operations(spec)) {
    if (operation->op.kind == OpKind::normalize && spec.count_classes.size() > 1) {
      report(several_counts(spec, *operation), engine);
      repairs.factor = true;
    }
    // Reported with the rules of synchronisation.
    if (operation->op.kind == OpKind::reduce && !manual) repairs.disabled.insert(operation);
  }
  report_disagreements(spec, repairs, engine);
}

}  // namespace loop::check
