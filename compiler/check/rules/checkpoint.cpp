// Resuming needs something to resume from.
#include "compiler/check/rules/rules.h"

namespace loop::check {

void check_checkpoint(const sema::Spec& spec, diagnostics::Engine& engine) {
  using diagnostics::Code;
  if (!spec.checkpoint.value && spec.resume.value == "auto") {
    engine.report(Code::L701, spec.resume.span)
        .help("add `checkpoint { path = \"…\"; every = 500 updates }`, or name a checkpoint's path");
  }
}

}  // namespace loop::check
