// docs/errors against the catalog, the sources and the compiler itself.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "compiler/diagnostics/render.h"
#include "compiler/driver/availability.h"
#include "compiler/driver/pipeline.h"
#include "tests/explanations/page.h"

using namespace loop;
using loop::explanations::Example;
using loop::explanations::Page;
namespace fs = std::filesystem;

namespace {

const fs::path kRoot = LOOP_SOURCE_DIR;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// All sources below `folder`, except those below `without`.
std::string sources(const fs::path& folder, const fs::path& without = {}) {
  std::string all;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path& path = entry.path();
    const bool excluded = !without.empty() && path.string().rfind(without.string() + "/", 0) == 0;
    if (!excluded && (path.extension() == ".cpp" || path.extension() == ".h")) all += read(path);
  }
  return all;
}

std::map<std::string, Page> pages() {
  std::map<std::string, Page> found;
  for (const auto& entry : fs::directory_iterator(kRoot / "docs" / "errors")) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".md" && std::regex_match(name, std::regex("L[0-9]{3}"))) {
      found[name] = explanations::parse_page(read(entry.path()));
    }
  }
  return found;
}

/// What `loopc check` says of an example, or for `wrong run` what `loopc run` says before it starts the
/// runtime.
struct Verdict {
  std::set<std::string> codes;
  bool errors = false;
  std::string text;
};

Verdict judge(const std::string& text, bool as_run) {
  driver::Compilation compilation;
  std::istringstream in(text);
  const auto specs = driver::check_spec(compilation, {.path = "-", .look_for_data = as_run}, in);
  if (as_run) {
    for (const sema::Spec& spec : specs) driver::report_unavailable(spec, std::nullopt, compilation.engine);
  }
  Verdict verdict;
  verdict.errors = compilation.engine.has_errors();
  for (const diagnostics::Diagnostic& finding : compilation.engine.diagnostics()) {
    verdict.codes.insert(std::string(diagnostics::entry(finding.code).id));
  }
  std::ostringstream shown;
  diagnostics::render_text(shown, compilation.sources, compilation.engine.diagnostics(), {});
  verdict.text = shown.str();
  return verdict;
}

}  // namespace

TEST_CASE("every code has a page that begins with its code and name, and every page has its code") {
  const std::map<std::string, Page> all = pages();
  for (const diagnostics::CatalogEntry& line : diagnostics::catalog()) {
    CAPTURE(line.id);
    const auto page = all.find(std::string(line.id));
    CHECK_MESSAGE(page != all.end(), "there is no docs/errors/" << line.id << ".md");
    if (page == all.end()) continue;
    CHECK(page->second.first_line == "# " + std::string(line.id) + " " + std::string(line.name));
  }
  for (const auto& [id, page] : all)
    CHECK_MESSAGE(diagnostics::find(id) != nullptr, "no finding has the code of " << id << ".md");
}

TEST_CASE("every page shows a wrong and a right example, or names the test that shows the finding") {
  const std::string tests = sources(kRoot / "tests");
  const std::set<std::string> kinds = {
      "loop wrong", "loop wrong run", "loop right", "text", "sh", "json", ""};
  for (const auto& [id, page] : pages()) {
    CAPTURE(id);
    CHECK(page.fences_closed);
    for (const Example& example : page.examples) {
      CHECK_MESSAGE(kinds.contains(example.kind),
                    "line " << example.line << ": ```" << example.kind << " is not known");
    }
    if (page.tested_by.empty()) {
      CHECK(page.has_heading("## Wrong"));
      CHECK(page.has_heading("## Right"));
      CHECK((page.has_example("loop wrong") || page.has_example("loop wrong run")));
      CHECK(page.has_example("loop right"));
    } else {
      // "Tested by: tests/unit/x/y_test.cpp" or the name of a test case.
      std::string named = page.tested_by;
      named.erase(std::remove(named.begin(), named.end(), '`'), named.end());
      const std::string file = named.substr(0, named.find_first_of(" ,("));
      const bool is_file = file.find('/') != std::string::npos && fs::is_regular_file(kRoot / file);
      const bool is_case = tests.find("\"" + named + "\"") != std::string::npos;
      CHECK_MESSAGE((is_file || is_case), "no such test: " << page.tested_by);
      if (is_file)
        CHECK_MESSAGE(read(kRoot / file).find(id) != std::string::npos, file << " does not mention " << id);
    }
  }
}

TEST_CASE("the examples give what their pages say") {
  for (const auto& [id, page] : pages()) {
    for (const Example& example : page.examples) {
      if (example.kind.rfind("loop", 0) != 0) continue;
      const std::string place = "docs/errors/" + id + ".md:" + std::to_string(example.line);
      CAPTURE(place);
      const bool as_run = example.kind == "loop wrong run";
      const Verdict verdict = judge(example.text, as_run);
      if (example.kind == "loop right") {
        CHECK_MESSAGE((!verdict.errors && !verdict.codes.contains(id)), "the right example gives:\n"
                                                                            << verdict.text);
      } else {
        CHECK_MESSAGE(verdict.codes.contains(id), "the wrong example does not give " << id << " but:\n"
                                                                                     << verdict.text);
      }
    }
  }
}

TEST_CASE("every code is reported somewhere in the compiler") {
  const std::string compiler = sources(kRoot / "compiler", kRoot / "compiler" / "diagnostics");
  for (const diagnostics::CatalogEntry& line : diagnostics::catalog()) {
    CHECK_MESSAGE(compiler.find("Code::" + std::string(line.id)) != std::string::npos,
                  line.id << " is never reported");
  }
}
