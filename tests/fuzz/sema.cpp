#include "tests/fuzz/support.h"
#include "tests/fuzz/targets.h"

namespace loop::fuzz {

void sema(std::string_view bytes) {
  Input input;
  const loop::sema::AnalysisResult result =
      loop::sema::analyze(input.sources, input.engine, options_for(std::string(bytes)));
  require(input.engine.has_errors() || !result.specs.empty(), "without errors there is a spec");
  show(input);
}

}  // namespace loop::fuzz
