// A page of docs/errors, taken apart.
#pragma once

#include <string>
#include <vector>

namespace loop::explanations {

/// A fenced block: "loop wrong", "loop right", "loop wrong run", "text" …
struct Example {
  std::string kind;
  std::string text;
  size_t line = 0;  // of the opening fence
};

struct Page {
  std::string first_line;
  std::vector<std::string> headings;  // "## Wrong"
  std::vector<Example> examples;
  std::string tested_by;  // what stands after "Tested by:"; empty when there is none
  bool fences_closed = true;

  bool has_heading(const std::string& heading) const;
  bool has_example(const std::string& kind) const;
};

Page parse_page(const std::string& text);

}  // namespace loop::explanations
