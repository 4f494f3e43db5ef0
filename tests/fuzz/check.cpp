#include "compiler/check/check.h"

#include "tests/fuzz/support.h"
#include "tests/fuzz/targets.h"

namespace loop::fuzz {

void check(std::string_view bytes) {
  Input input;
  const loop::sema::AnalysisResult result =
      loop::sema::analyze(input.sources, input.engine, options_for(std::string(bytes)));
  for (const loop::sema::Spec& spec : result.specs) loop::check::check(spec, input.engine);
  show(input);
  if (input.engine.has_errors()) return;
  lower_all(input, result.specs);

  for (const loop::sema::Spec& spec : result.specs) {
    Input again;
    const loop::sema::AnalysisResult resolved =
        loop::sema::analyze(again.sources, again.engine, options_for(spec.resolved_text));
    require(!again.engine.has_errors() && resolved.specs.size() == 1, "the resolved text is accepted",
            spec.resolved_text);
    require(resolved.specs.front().resolved_text == spec.resolved_text,
            "the resolved text resolves to itself", spec.resolved_text);
  }
}

}  // namespace loop::fuzz
