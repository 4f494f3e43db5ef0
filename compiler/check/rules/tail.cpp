// What happens to the micro-batches at an epoch's end that do not fill a window. That `tail` is there where
// it is needed, is a matter of the keys of `window`.
#include "compiler/check/rules/rules.h"

namespace loop::check {

void check_tail(const sema::Spec& spec, diagnostics::Engine& engine) {
  const plan::WindowSize::Unit unit = spec.window.size.value.unit;
  if (unit != plan::WindowSize::Unit::micro_batches &&
      spec.data.short_policy.value == plan::ShortPolicy::drop) {
    engine.report(diagnostics::Code::L404, spec.data.short_policy.span, {plan::name(unit)})
        .also(spec.window.size.span, "counted over all ranks, in samples of one global order")
        .help("leave `short` out: `tail` decides about what is left at an epoch's end")
        .help("or give the window's size in micro_batches");
  }
  const sema::SourceUse* source = train_source(spec);
  if (!source) return;
  const auto& tail = spec.window.tail;
  if (!tail.value) return;
  if (!source->facts.finite) {
    if (tail.written)
      engine.report(diagnostics::Code::L403, tail.span, {source->source.name}).help("delete it");
    return;
  }
  if (*tail.value == plan::Tail::carry && !spec.checkpoint.value) {
    engine.report(diagnostics::Code::L402, tail.span)
        .help("a `checkpoint { … }` saves the unfinished window with the rest of the state");
  }
}

}  // namespace loop::check
