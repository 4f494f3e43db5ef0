#include "compiler/check/typestate/text_faults.h"

#include <algorithm>

#include "compiler/operations/table.h"

namespace loop::check {
namespace {

using diagnostics::Code;
using operations::GradientEffect;
using plan::OpKind;

/// A trainable group on which both act; empty without one.
std::string shared_group(const sema::Spec& spec, const plan::Operation& a, const plan::Operation& b) {
  const auto acts_on = [](const plan::Operation& op, const std::string& name) {
    return op.groups.empty() || std::find(op.groups.begin(), op.groups.end(), name) != op.groups.end();
  };
  for (const sema::Group& group : spec.groups) {
    if (!group.group.frozen && acts_on(a, group.group.name) && acts_on(b, group.group.name))
      return group.group.name;
  }
  return "";
}

/// Two clips of one kind, or two steps, on one group that say different things: nobody can tell which is
/// meant.
void report_disagreements(const sema::Spec& spec, Repairs& repairs, diagnostics::Engine& engine) {
  const std::vector<const sema::Operation*> all = all_operations(spec);
  for (size_t i = 0; i < all.size(); ++i) {
    const plan::Operation& first = all[i]->op;
    const GradientEffect effect = operations::entry(first.kind).gradient_effect;
    if (effect != GradientEffect::clips && effect != GradientEffect::applies) continue;
    if (repairs.disabled.count(all[i])) continue;
    for (size_t j = i + 1; j < all.size(); ++j) {
      const plan::Operation& second = all[j]->op;
      if (second.kind != first.kind || repairs.disabled.count(all[j])) continue;
      const bool same = effect == GradientEffect::clips
                            ? first.limit == second.limit && first.groups == second.groups
                            : first.rule == second.rule;
      const std::string group = same ? "" : shared_group(spec, first, second);
      if (group.empty()) continue;
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

}  // namespace

void report_text_faults(const sema::Spec& spec, Repairs& repairs, diagnostics::Engine& engine) {
  const bool manual = spec.window.sync.value == plan::Sync::manual;
  for (const sema::Operation* operation : all_operations(spec)) {
    if (operation->op.kind == OpKind::normalize && spec.count_classes.size() > 1) {
      report(Finding(Code::L307, operation->span, {std::to_string(spec.count_classes.size())})
                 .help("write `loss(normalized)` in `micro`, which divides every term by its own count, and "
                       "no `normalize`"),
             engine);
      repairs.factor = true;
    }
    // Reported with the rules of synchronisation.
    if (operation->op.kind == OpKind::reduce && !manual) repairs.disabled.insert(operation);
  }
  report_disagreements(spec, repairs, engine);
}

}  // namespace loop::check
