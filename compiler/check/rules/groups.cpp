// Parameter groups: something must train, and what is clipped should be meant.
#include <algorithm>

#include "compiler/base/text.h"
#include "compiler/check/rules/rules.h"
#include "compiler/check/typestate/executor.h"

namespace loop::check {
namespace {

using diagnostics::Code;
using plan::OpKind;

void check_clipped_parts(const sema::Spec& spec, OpKind kind, diagnostics::Engine& engine) {
  const sema::Operation* first = nullptr;
  std::vector<std::string> clipped;
  for (const sema::Operation* operation : all_operations(spec)) {
    if (operation->op.kind != kind) continue;
    if (operation->op.groups.empty()) return;  // all groups
    if (!first) first = operation;
    clipped.insert(clipped.end(), operation->op.groups.begin(), operation->op.groups.end());
  }
  if (!first) return;
  std::vector<std::string> left;
  for (const sema::Group& group : spec.groups) {
    if (!group.group.frozen && std::find(clipped.begin(), clipped.end(), group.group.name) == clipped.end()) {
      left.push_back("`" + group.group.name + "`");
    }
  }
  if (left.empty()) return;
  engine
      .report(Code::L811, first->span,
              {base::enumerate(left, " and "), kind == OpKind::clip_norm ? "norm" : "value"})
      .help("without `on`, the norm is taken over all groups together");
}

}  // namespace

void check_groups(const sema::Spec& spec, diagnostics::Engine& engine) {
  const bool all_frozen =
      !spec.groups.empty() && std::all_of(spec.groups.begin(), spec.groups.end(),
                                          [](const sema::Group& group) { return group.group.frozen; });
  if (all_frozen) {
    engine.report(Code::L810, spec.params_span ? spec.params_span : spec.name_span)
        .help("leave at least one group without `frozen(…)`");
  }
  check_clipped_parts(spec, OpKind::clip_norm, engine);
  check_clipped_parts(spec, OpKind::clip_value, engine);
}

}  // namespace loop::check
