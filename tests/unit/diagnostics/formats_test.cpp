// Every output format over the same findings: golden files in tests/golden/formats; LOOP_UPDATE_GOLDEN=1
// writes them anew.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "compiler/diagnostics/render.h"
#include "tests/support/golden.h"

using namespace loop;
using namespace loop::diagnostics;

namespace {

void check_golden(const std::string& name, const std::string& shown) {
  loop::testing::check_golden(std::string(LOOP_SOURCE_DIR) + "/tests/golden/formats/" + name, shown);
}

const char* const kSpec =
    "loop a {\n"
    "  update {\n"
    "    clip(norm: 1.0)\n"
    "    unscale\n"
    "  }   # loop: allow(L204, reason: \"one node\")\n"
    "  stop = é\n"
    "}\n";

/// A finding of each kind: with labels, notes and fixes over several lines; in a folder whose name needs
/// escapes; from the command line; without a place; allowed.
struct Sample {
  base::SourceManager sources;
  Report report{sources, {}, {}, {.errors = 1, .warnings = 0, .notes = 2}, 4, 3};

  Span at(base::FileId file, const std::string& text) const {
    const size_t begin = sources.file(file).text().find(text);
    REQUIRE(begin != std::string::npos);
    return {file, static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + text.size())};
  }

  Sample() {
    const auto spec = sources.add("recipes/a b,c:d%/é.loop", kSpec);
    const auto module = sources.add("/work/recipes/shared.loop", "const k = 1 / 0\n");
    const auto elsewhere = sources.add("/opt/loop/stdlib/x.loop", "schedule s(clock) = clock\n");
    const auto override_text = sources.add("--set seed", "x");
    Engine engine;
    Diagnostic& clip = engine.report(Code::L110, at(spec, "clip(norm: 1.0)"));
    clip.with_label("still scaled, 100% of it")
        .also(at(spec, "unscale"), "divides by the loss scale")
        .also(at(elsewhere, "clock"), "")
        .note("a note\nof two lines")
        .help("a help");
    const Span both = at(spec, "clip(norm: 1.0)\n    unscale\n");
    clip.fix({"move `clip` after `unscale`", Certainty::certain, {{both, "unscale\n    clip(norm: 1.0)\n"}}});
    engine.report(Code::L062, at(spec, "é"), {"é"})
        .fix({"delete it", Certainty::likely, {{at(spec, "é"), ""}}});
    engine.report(Code::L058, at(module, "1 / 0"));
    engine.report(Code::L050, at(override_text, "x"), {"a number", "a name"});
    engine.report(Code::L602, {}, {"attempts"});
    engine.report(Code::L204, at(spec, "update"), {"4"});
    report.findings = engine.diagnostics();
    report.allowed.push_back({report.findings.back(), "one node", at(spec, "L204")});
    report.findings.pop_back();
  }
};

std::string shown(void (*render)(std::ostream&, const Report&)) {
  const Sample sample;
  std::ostringstream out;
  render(out, sample.report);
  return out.str();
}

}  // namespace

TEST_CASE("formats: text") {
  check_golden("text.txt", shown([](std::ostream& out, const Report& report) {
                 render_text(out, report, TextOptions{});
               }));
}

TEST_CASE("formats: concise") {
  check_golden("concise.txt", shown(render_concise));
}

TEST_CASE("formats: github") {
  const std::string text = shown(render_github);
  check_golden("github.txt", text);
  // One line per finding: what has several is encoded.
  CHECK(std::count(text.begin(), text.end(), '\n') == 6);
}

TEST_CASE("formats: json") {
  const std::string text = shown([](std::ostream& out, const Report& report) { render_json(out, report); });
  check_golden("json.json", text);
  CHECK(nlohmann::json::parse(text)["allowed"][0]["reason"] == "one node");
}

TEST_CASE("formats: sarif") {
  const std::string text =
      shown([](std::ostream& out, const Report& report) { render_sarif(out, report, "/work", "1.2.3"); });
  check_golden("sarif.json", text);
  const auto run = nlohmann::json::parse(text)["runs"][0];
  CHECK(run["results"].size() == 6);
  CHECK(run["results"][2]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] ==
        "recipes/shared.loop");
}

TEST_CASE("formats: sarif fingerprints number equal lines and do not depend on where they stand") {
  const auto prints = [](const std::string& text) {
    base::SourceManager sources;
    const auto file = sources.add("a.loop", text);
    Report report{sources, {}, {}, {}, 1, 0};
    Engine engine;
    for (size_t at = text.find("clip"); at != std::string::npos; at = text.find("clip", at + 1))
      engine.report(Code::L110, {file, static_cast<uint32_t>(at), static_cast<uint32_t>(at + 4)});
    report.findings = engine.diagnostics();
    std::ostringstream out;
    render_sarif(out, report, "", "1");
    std::vector<std::string> found;
    const auto document = nlohmann::json::parse(out.str());
    for (const auto& result : document["runs"][0]["results"])
      found.push_back(result["partialFingerprints"]["primaryLocationLineHash"]);
    return found;
  };
  const auto before = prints("clip(norm: 1)\nclip(norm: 2)\nclip(norm: 1)\n");
  REQUIRE(before.size() == 3);
  CHECK(before[0].substr(0, 16) == before[2].substr(0, 16));
  CHECK(before[0] != before[2]);
  CHECK(before[0].substr(0, 16) != before[1].substr(0, 16));
  CHECK(prints("# one more\n\n  clip(norm:  1)\nclip(norm: 2)\n\nclip(norm: 1)\n") == before);
}

TEST_CASE("formats: the summary line says what was not shown") {
  base::SourceManager sources;
  CHECK(summary_line({sources, {}, {}, {}, 3, 0}) == "no findings in 3 files");
  CHECK(summary_line({sources, {}, {}, {.errors = 2}, 1, 0}) == "no findings in 1 file; not shown: 2 errors");
}
