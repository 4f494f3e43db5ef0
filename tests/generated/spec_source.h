// Random specs over the whole language: every block, key, unit and operation of the compiler's tables,
// written neatly or oddly, right or with a mistake in them. The same seed gives the same spec on every
// platform.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace loop::generated {

struct GeneratedSpec {
  std::string text;
  std::vector<std::string> overrides;  // `window.size=8 samples`
};

GeneratedSpec generate(uint64_t seed);

/// Values that can stand behind a key, by "block.key" or, for the loop's own keys, "key": the right ones.
/// Empty for a key that is a block or not in the language yet.
const std::vector<std::string>& values_of(const std::string& key);

}  // namespace loop::generated
