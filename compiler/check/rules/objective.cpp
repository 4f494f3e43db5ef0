// What a declared unit means where it is not a plain count.
#include "compiler/check/rules/rules.h"

namespace loop::check {

void check_objective(const sema::Spec& spec, diagnostics::Engine& engine) {
  using diagnostics::Code;
  for (const sema::LossTerm& term : spec.terms) {
    const size_t index = static_cast<size_t>(term.term.count_class);
    if (index >= spec.count_classes.size()) continue;
    const plan::CountUnit unit = spec.count_classes[index].unit;
    if (unit == plan::CountUnit::window) {
      engine.report(Code::L311, term.unit_span)
          .help(
              "fine where the rate is meant so; `per tokens` or `per samples` keep it independent of the "
              "window");
    }
    if (unit == plan::CountUnit::micro_batch && several_micro_batches(spec)) {
      engine.report(Code::L312, term.unit_span)
          .help("a count such as `per tokens` does not depend on the split");
    }
  }
}

}  // namespace loop::check
