// Checkpoints: written at all, found again.
#include "compiler/check/rules/rules.h"

namespace loop::check {

void check_checkpoint(const sema::Spec& spec, diagnostics::Engine& engine) {
  using diagnostics::Code;
  if (!spec.checkpoint.value) {
    if (spec.resume.value == "auto") {
      engine.report(Code::L701, spec.resume.span)
          .help("add `checkpoint { path = \"…\"; every = 500 updates }`, or name a checkpoint's path");
    }
    return;
  }
  const plan::Checkpoint& checkpoint = *spec.checkpoint.value;
  if (checkpoint.every.empty() && !checkpoint.on_signal) {
    engine.report(Code::L704, spec.checkpoint.span).help("write `every = 500 updates or 10 min`");
  }
}

}  // namespace loop::check
