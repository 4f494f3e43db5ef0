// docs/reference/rules.md names every finding about a loop, and nothing that there is not.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "compiler/diagnostics/engine.h"

using namespace loop;

namespace {

std::string page() {
  std::ifstream file(LOOP_SOURCE_DIR "/docs/reference/rules.md");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::set<std::string> matches(const std::string& text, const char* pattern) {
  const std::regex expression(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at)
    found.insert(at->str());
  return found;
}

}  // namespace

TEST_CASE("the list of rules names every finding from L101 on, and only findings that exist") {
  const std::set<std::string> named = matches(page(), "L[0-9]{3}");
  for (const diagnostics::CatalogEntry& line : diagnostics::catalog()) {
    if (line.id < "L101") continue;
    CHECK_MESSAGE(named.contains(std::string(line.id)), line.id << " is not in docs/reference/rules.md");
  }
  for (const std::string& id : named) {
    if (id == "L001" || id == "L099") continue;  // the bounds of a family
    CHECK_MESSAGE(diagnostics::find(id) != nullptr, "no finding has the code " << id);
  }
}

TEST_CASE("the tests that the list of rules names are there") {
  const std::set<std::string> files = matches(page(), "tests/unit/[a-z_/]+\\.cpp");
  CHECK(files.size() > 3);
  for (const std::string& file : files)
    CHECK_MESSAGE(std::filesystem::is_regular_file(std::filesystem::path(LOOP_SOURCE_DIR) / file), file);
}
