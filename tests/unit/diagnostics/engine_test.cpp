#include "compiler/diagnostics/engine.h"

#include <doctest/doctest.h>

#include <set>
#include <stdexcept>

using namespace loop;
using namespace loop::diagnostics;

TEST_CASE("catalog: codes and names are unique and well formed") {
  std::set<std::string> ids;
  std::set<std::string> names;
  for (const CatalogEntry& line : catalog()) {
    CAPTURE(line.id);
    CHECK(ids.insert(std::string(line.id)).second);
    CHECK(names.insert(std::string(line.name)).second);
    CHECK(line.id.size() == 4);
    CHECK(line.id.front() == 'L');
    CHECK(line.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos);
    CHECK_FALSE(line.message.empty());
    CHECK(&entry(line.code) == &line);
  }
}

TEST_CASE("find: by code in either case and by name, nothing else") {
  REQUIRE(find("L990") != nullptr);
  CHECK(find("L990")->code == Code::L990);
  CHECK(find("l990") == find("L990"));
  CHECK(find("not-available") == find("L990"));
  CHECK(find("") == nullptr);
  CHECK(find("L9900") == nullptr);
  CHECK(find("L99") == nullptr);
}

TEST_CASE("substitute: arguments are put in once, other braces stay") {
  CHECK(substitute("{1} after {0}", {"a", "b"}) == "b after a");
  CHECK(substitute("{0}", {"{1} {0}"}) == "{1} {0}");
  CHECK(substitute("loop x { } {a} {", {}) == "loop x { } {a} {");
  CHECK_THROWS_AS(substitute("{1}", {"only one"}), std::logic_error);
}

TEST_CASE("report: severity and message come from the catalog, builders add to the same finding") {
  Engine engine;
  const Span place{{1}, 4, 8};
  engine.report(Code::L990, place, {"fp16", "use fp32"})
      .with_label("here")
      .also({{1}, 0, 2}, "there")
      .note("a note")
      .help("a help")
      .fix({"drop it", Certainty::certain, {{place, ""}}});
  REQUIRE(engine.diagnostics().size() == 1);
  const Diagnostic& finding = engine.diagnostics().front();
  CHECK(finding.severity == Severity::error);
  CHECK(finding.message == "fp16 is not available in this build; use fp32");
  CHECK(finding.label == "here");
  CHECK(finding.labels.size() == 1);
  CHECK(finding.notes == std::vector<std::string>{"a note"});
  CHECK(finding.helps == std::vector<std::string>{"a help"});
  CHECK(finding.fixes.front().certainty == Certainty::certain);
  CHECK(engine.error_count() == 1);
}

TEST_CASE("sort: by file, place and code; exact repetitions go, even with others between them") {
  Engine engine;
  engine.report(Code::L990, {{2}, 0, 1}, {"c", ""});
  engine.report(Code::L990, {{1}, 5, 6}, {"b", ""});
  engine.report(Code::L990, {{1}, 5, 6}, {"other", ""});
  engine.report(Code::L990, {{1}, 5, 6}, {"b", ""});
  engine.report(Code::L990, {{1}, 1, 6}, {"a", ""});
  CHECK(engine.error_count() == 5);
  engine.sort();
  std::string order;
  for (const Diagnostic& finding : engine.diagnostics())
    order += finding.message.substr(0, finding.message.find(' ')) + " ";
  CHECK(order == "a b other c ");
  CHECK(engine.error_count() == 4);
}
