// tests/unit/sema/findings/Lnnn.loop: texts separated by `====`, in which the place of the finding stands
// between ⟦ and ⟧.
#include <doctest/doctest.h>

#include "tests/unit/sema/analysis.h"

using namespace loop;
using loop::testing::Analysis;

namespace {

std::vector<std::string> examples(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> result(1);
  for (std::string line; std::getline(file, line);) {
    if (line == "====")
      result.emplace_back();
    else
      result.back() += line + "\n";
  }
  return result;
}

size_t take_mark(std::string& text, const std::string& mark) {
  size_t at = text.find(mark);
  REQUIRE(at != std::string::npos);
  text.erase(at, mark.size());
  return at;
}

}  // namespace

TEST_CASE("each finding stands at its place") {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(LOOP_SOURCE_DIR) /
                                                               "tests/unit/sema/findings")) {
    std::string code = entry.path().stem().string();
    for (std::string text : examples(entry.path())) {
      size_t begin = take_mark(text, "⟦");
      size_t end = take_mark(text, "⟧");
      Analysis analysis(text);
      std::string shown = code + " in\n" + text + "\nfindings:\n" + analysis.text();
      CAPTURE(shown);
      bool found = false;
      for (const diagnostics::Diagnostic& finding : analysis.engine.diagnostics())
        found = found || (diagnostics::entry(finding.code).id == code && finding.span.begin == begin &&
                          finding.span.end == end);
      CHECK(found);
      ++count;
    }
  }
  CHECK(count > 150);
}

TEST_CASE("every finding about names has such a text or a test of its own") {
  for (const diagnostics::CatalogEntry& line : diagnostics::catalog()) {
    if (line.id < "L030" || line.id > "L099") continue;
    bool elsewhere = false;
    for (const char* file : {"modules", "overrides", "limits"}) {
      std::ifstream in(std::filesystem::path(LOOP_SOURCE_DIR) / "tests/unit/sema" /
                       (std::string(file) + "_test.cpp"));
      std::string text((std::istreambuf_iterator<char>(in)), {});
      elsewhere = elsewhere || text.find("\"" + std::string(line.id) + "\"") != std::string::npos;
    }
    bool here = std::filesystem::exists(std::filesystem::path(LOOP_SOURCE_DIR) / "tests/unit/sema/findings" /
                                        (std::string(line.id) + ".loop"));
    CHECK_MESSAGE((here || elsewhere), line.id);
  }
}

TEST_CASE("a broken loop gives one finding, not a cascade") {
  using loop::testing::kTiny;
  using loop::testing::replace;
  for (const std::string& text :
       {replace(kTiny, "tail = flush", "tial = flush"), replace(kTiny, "micro_batch =", "micro_batches ="),
        replace(kTiny, "sgd(lr", "sdg(lr"), replace(kTiny, "[8]", "[0]"),
        replace(kTiny, "model =", "modle ="), replace(kTiny, "cross_entropy", "cross_entropie")}) {
    Analysis analysis(text);
    CAPTURE(analysis.text());
    CHECK(analysis.engine.diagnostics().size() == 1);
  }
}

TEST_CASE("suggestions carry their edit") {
  using loop::testing::kTiny;
  using loop::testing::replace;
  Analysis key(replace(kTiny, "tail = flush", "tial = flush"));
  REQUIRE(key.finding("L040").fixes.size() == 1);
  CHECK(key.finding("L040").fixes[0].edits[0].text == "tail");
  CHECK(key.finding("L040").fixes[0].certainty == diagnostics::Certainty::certain);

  Analysis import(replace(kTiny, "use std.optimizers.sgd\n\n", ""));
  REQUIRE(import.finding("L064").fixes.size() == 1);
  const diagnostics::FixIt& fix = import.finding("L064").fixes[0];
  CHECK(fix.certainty == diagnostics::Certainty::certain);
  CHECK(fix.edits[0].text == "use std.optimizers.sgd\n\n");
  CHECK(fix.edits[0].span.begin == 0);
}

TEST_CASE("a repeated key shows both places") {
  Analysis analysis(
      loop::testing::replace(loop::testing::kTiny, "tail = flush", "tail = flush\n    tail = carry"));
  const diagnostics::Diagnostic& finding = analysis.finding("L041");
  REQUIRE(finding.labels.size() == 1);
  CHECK(finding.labels[0].span.begin < finding.span.begin);
}
