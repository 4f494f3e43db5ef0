#include "tests/explanations/page.h"

#include <algorithm>
#include <sstream>

namespace loop::explanations {

bool Page::has_heading(const std::string& heading) const {
  return std::find(headings.begin(), headings.end(), heading) != headings.end();
}

bool Page::has_example(const std::string& kind) const {
  return std::any_of(examples.begin(), examples.end(),
                     [&](const Example& example) { return example.kind == kind; });
}

Page parse_page(const std::string& text) {
  constexpr const char* kFence = "```";
  constexpr const char* kTestedBy = "Tested by:";
  Page page;
  std::istringstream lines(text);
  bool within = false;
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (number == 1) page.first_line = line;
    if (line.rfind(kFence, 0) == 0) {
      if (!within) page.examples.push_back({line.substr(3), "", number});
      within = !within;
    } else if (within) {
      page.examples.back().text += line + "\n";
    } else if (line.rfind("## ", 0) == 0) {
      page.headings.push_back(line);
    } else if (line.rfind(kTestedBy, 0) == 0) {
      const size_t begin = line.find_first_not_of(' ', std::string(kTestedBy).size());
      page.tested_by = begin == std::string::npos ? "" : line.substr(begin);
    }
  }
  page.fences_closed = !within;
  return page;
}

}  // namespace loop::explanations
