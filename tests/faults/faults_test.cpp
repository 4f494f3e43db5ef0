// The corpus of this folder against `loopc check`: a fault gives exactly the findings that its lines expect,
// its repair and the negative controls give none.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "compiler/diagnostics/render.h"
#include "compiler/driver/pipeline.h"

using namespace loop;
namespace fs = std::filesystem;

namespace {

const fs::path kCorpus = fs::path(LOOP_SOURCE_DIR) / "tests" / "faults";

using Place = std::pair<size_t, std::string>;  // line of the spec and code
using Places = std::vector<Place>;             // sorted

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The folders of the corpus, by name.
std::vector<fs::path> cases() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(kCorpus)) {
    if (entry.is_directory()) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// What the comments `# expect: L301 L204` say of the lines that they stand on.
Places expectations(const std::string& text) {
  const std::string mark = "# expect:";
  Places found;
  std::istringstream lines(text);
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const size_t at = line.find(mark);
    if (at == std::string::npos) continue;
    std::istringstream codes(line.substr(at + mark.size()));
    for (std::string code; codes >> code;) found.emplace_back(number, code);
  }
  std::sort(found.begin(), found.end());
  return found;
}

struct Verdict {
  Places major;  // errors and warnings
  Places notes;
  std::string text;  // as a person sees it
};

Verdict judge(const fs::path& path) {
  driver::Compilation compilation;
  std::istringstream no_input;
  driver::check_spec(compilation, {.path = path.string()}, no_input);
  Verdict verdict;
  for (const diagnostics::Diagnostic& finding : compilation.engine.diagnostics()) {
    size_t line = 0;  // stays 0 in a file of the standard library, which no comment can expect
    if (finding.span) {
      const base::SourceFile& file = compilation.sources.file(finding.span.file);
      if (file.path() == path.string()) line = file.position(finding.span.begin).line;
    }
    Places& places = finding.severity == diagnostics::Severity::note ? verdict.notes : verdict.major;
    places.emplace_back(line, diagnostics::entry(finding.code).id);
  }
  std::sort(verdict.major.begin(), verdict.major.end());
  std::sort(verdict.notes.begin(), verdict.notes.end());
  std::ostringstream shown;
  diagnostics::render_text(shown, compilation.sources, compilation.engine.diagnostics(), {});
  verdict.text = shown.str();
  return verdict;
}

Places without(const Places& all, const Places& some) {
  Places rest;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(rest));
  return rest;
}

std::string listed(const std::string& title, const Places& places) {
  std::string text;
  for (const auto& [line, code] : places)
    text += "  " + title + " " + code + " in line " + std::to_string(line) + "\n";
  return text;
}

/// Empty when the check says of a file what its comments expect. Notes are compared only where they are
/// expected.
std::string difference(const fs::path& path) {
  const Places expected = expectations(read(path));
  const Verdict verdict = judge(path);
  const Places missing = without(without(expected, verdict.major), verdict.notes);
  const Places unexpected = without(verdict.major, expected);
  if (missing.empty() && unexpected.empty()) return "";
  return path.lexically_relative(kCorpus).string() + "\n" + listed("missing:   ", missing) +
         listed("unexpected:", unexpected) + verdict.text;
}

}  // namespace

TEST_CASE("a fault gives exactly the findings that its lines expect") {
  size_t judged = 0;
  for (const fs::path& folder : cases()) {
    const fs::path faulty = folder / "faulty.loop";
    if (!fs::exists(faulty)) continue;
    ++judged;
    CHECK_MESSAGE(!expectations(read(faulty)).empty(), faulty.string() << " expects nothing");
    const std::string found = difference(faulty);
    CHECK_MESSAGE(found.empty(), found);
  }
  CHECK(judged > 0);
}

TEST_CASE("a repaired loop has no error and no warning") {
  for (const fs::path& folder : cases()) {
    const fs::path repaired = folder / "repaired.loop";
    if (!fs::exists(repaired)) continue;
    const Verdict verdict = judge(repaired);
    CHECK_MESSAGE(verdict.major.empty(), verdict.text);
  }
}

TEST_CASE("what is right although it looks wrong has no error and no warning") {
  size_t judged = 0;
  for (const fs::path& folder : cases()) {
    const fs::path clean = folder / "clean.loop";
    if (!fs::exists(clean)) continue;
    ++judged;
    const std::string found = difference(clean);
    CHECK_MESSAGE(found.empty(), found);
    const Verdict verdict = judge(clean);
    CHECK_MESSAGE(verdict.major.empty(), verdict.text);
  }
  CHECK(judged > 0);
}

TEST_CASE("every folder is complete and says what it is about") {
  for (const fs::path& folder : cases()) {
    CAPTURE(folder.filename().string());
    const bool clean = fs::exists(folder / "clean.loop");
    CHECK(clean != (fs::exists(folder / "faulty.loop") && fs::exists(folder / "repaired.loop")));
    for (const auto& entry : fs::directory_iterator(folder)) {
      CHECK(entry.path().extension() == ".loop");
      CHECK(read(entry.path()).rfind("# ", 0) == 0);
    }
  }
}
