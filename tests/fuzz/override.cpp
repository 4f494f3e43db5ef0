#include <fstream>
#include <iterator>

#include "tests/fuzz/support.h"
#include "tests/fuzz/targets.h"

namespace loop::fuzz {
namespace {

constexpr size_t kMostOverrides = 32;

const std::string& base_spec() {
  static const std::string text = [] {
    std::ifstream in(LOOP_SOURCE_DIR "/tests/fuzz/workspace/overridden.loop", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  return text;
}

}  // namespace

void override_keys(std::string_view bytes) {
  loop::sema::Options options = options_for(base_spec());
  while (!bytes.empty() && options.overrides.size() < kMostOverrides) {
    const size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    const size_t equals = line.find('=');
    // The command line refuses what has no key before it comes here.
    if (equals == std::string_view::npos || equals == 0) continue;
    options.overrides.emplace_back(line);
  }
  Input input;
  const loop::sema::AnalysisResult result = loop::sema::analyze(input.sources, input.engine, options);
  require(input.engine.has_errors() || !result.specs.empty(), "without errors there is a spec");
  show(input);
}

}  // namespace loop::fuzz
