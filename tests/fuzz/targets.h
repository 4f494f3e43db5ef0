// What is fuzzed. A target takes any bytes, and ends the process by `require` when a promise about them is
// broken.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace loop::fuzz {

/// Text → tree, as a file and as a single expression; findings as text and JSON. Places lie in the text.
void parse(std::string_view bytes);
/// A spec beside tests/fuzz/workspace with everything it uses, to its meaning.
void sema(std::string_view bytes);
/// A text that parses is formatted: same tree, same comments, and once is enough.
void fmt(std::string_view bytes);
/// One override a line (`window.size=8 samples`) over a fixed spec that has every block.
void override_keys(std::string_view bytes);
/// The whole of `loopc check`, and lowering of what has no error: the plan can be read back, and the resolved
/// text is accepted again.
void check(std::string_view bytes);

struct Target {
  std::string name;
  void (*run)(std::string_view bytes);
};
const std::vector<Target>& targets();

}  // namespace loop::fuzz
