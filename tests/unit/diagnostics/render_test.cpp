// What a person sees. Each case is a golden file in tests/golden/diagnostics; LOOP_UPDATE_GOLDEN=1 writes
// them anew.
#include "compiler/diagnostics/render.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/golden.h"

using namespace loop;
using namespace loop::diagnostics;

namespace {

struct Case {
  base::SourceManager sources;
  Engine engine;

  /// The first occurrence of `text` in a file.
  Span at(base::FileId file, const std::string& text) const {
    const size_t begin = sources.file(file).text().find(text);
    REQUIRE(begin != std::string::npos);
    return {file, static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + text.size())};
  }
  Diagnostic& report(Span span, const std::string& what, Severity severity = Severity::error) {
    Diagnostic& finding = engine.report(Code::L990, span, {what, "…"});
    finding.severity = severity;
    finding.message = what;
    return finding;
  }
  std::string text(TextOptions options = {}) const {
    std::ostringstream out;
    render_text(out, sources, engine.diagnostics(), options);
    return out.str();
  }
};

void check_golden(const std::string& name, const std::string& shown) {
  loop::testing::check_golden(std::string(LOOP_SOURCE_DIR) + "/tests/golden/diagnostics/" + name + ".txt",
                              shown);
}

const char* const kSpec =
    "loop char_gpt {\n"
    "  update {\n"
    "    clip(norm: 1.0)\n"
    "    unscale\n"
    "    step adamw(lr: 1e-3)\n"
    "  }\n"
    "}\n";

}  // namespace

TEST_CASE("text: place, source, caret, a label on another line, note and help") {
  Case c;
  const auto file = c.sources.add("char_gpt.loop", kSpec);
  c.report(c.at(file, "clip(norm: 1.0)"), "the gradient is clipped before it is unscaled")
      .with_label("clips a gradient that is 65,536 times too large")
      .also(c.at(file, "unscale"), "the loss scale is divided out here")
      .note("the norm is compared with 1.0 while\nit still holds the loss scale")
      .help("move `unscale` before `clip`");
  check_golden("label_on_other_line", c.text());
}

TEST_CASE("text: several labels on one line hang from their carets") {
  Case c;
  const auto file = c.sources.add("units.loop", "stop = 1000 tokens + 3 updates\n");
  c.report(c.at(file, "+"), "tokens and updates cannot be added")
      .with_label("different units")
      .also(c.at(file, "1000 tokens"), "counts tokens")
      .also(c.at(file, "3 updates"), "counts updates");
  check_golden("labels_on_one_line", c.text());
}

TEST_CASE("text: a place over several lines, short and long, begun in the middle of a line") {
  Case c;
  const auto file = c.sources.add(
      "long.loop",
      "loop x {\n  window {\n    size = 4 micro_batches\n  }\n"
      "  data { a = 1\n    b = 2\n    c = 3\n    d = 4\n    e = 5\n    f = 6\n    g = 7\n    h = 8 }\n}\n");
  c.report(c.at(file, "window {\n    size = 4 micro_batches\n  }"), "a short block")
      .with_label("without `tail`");
  c.report(
       c.at(file, "{ a = 1\n    b = 2\n    c = 3\n    d = 4\n    e = 5\n    f = 6\n    g = 7\n    h = 8 }"),
       "a long block", Severity::warning)
      .with_label("all of this")
      .also(c.at(file, "c = 3"), "this one too");
  c.report(c.at(file, "window {\n    size = 4 micro_batches\n  }\n  data { a = 1\n"), "blocks that overlap",
           Severity::note)
      .with_label("outer")
      .also(c.at(file, "size = 4 micro_batches\n  }"), "inner");
  check_golden("several_lines", c.text());
}

TEST_CASE(
    "text: tabs, code points of several bytes, bytes that are no text, the end of a file, an empty file") {
  Case c;
  const auto file =
      c.sources.add("bytes.loop", "\tpath\t= \"naïve/日本\"\t# x\nbad = \x1b[31m\xff!\nlast = ");
  c.report(c.at(file, "\"naïve/日本\""), "counted in code points");
  c.report(c.at(file, "path"), "after a tab");
  c.report(c.at(file, "!"), "after bytes that could steer a terminal");
  const auto end = static_cast<uint32_t>(c.sources.file(file).text().size());
  c.report({file, end, end}, "a value is missing").with_label("expected a value");
  c.report({c.sources.add("empty.loop", ""), 0, 0}, "nothing is here");
  check_golden("bytes", c.text());
}

TEST_CASE("text: labels in another file, a finding without a place") {
  Case c;
  const auto file = c.sources.add("variant.loop", "use .base\nloop x extends base.y { seed = 1 }\n");
  const auto other = c.sources.add("base.loop", "\n\n\n\n\n\n\n\n\n\nloop y { seed = 0 }\n");
  c.report(c.at(file, "seed = 1"), "a key is overridden").also(c.at(other, "seed = 0"), "first written here");
  c.report({}, "`--ranks 2` cannot be had").help("leave `--ranks` out");
  check_golden("other_file", c.text());
}

TEST_CASE("text: suggested fixes as lines that go and come") {
  Case c;
  const auto file = c.sources.add("char_gpt.loop", kSpec);
  const Span clip = c.at(file, "    clip(norm: 1.0)\n");
  const Span unscale = c.at(file, "unscale\n");
  c.report(c.at(file, "clip(norm: 1.0)"), "the gradient is clipped before it is unscaled")
      .fix({"clip after `unscale`",
            Certainty::certain,
            {{clip, ""}, {{file, unscale.end, unscale.end}, "    clip(norm: 1.0)\n"}}})
      .fix({"raise the limit and rename the block",
            Certainty::likely,
            {{c.at(file, "1.0"), "65536.0"}, {c.at(file, "norm"), "value"}, {c.at(file, "adamw"), "sgd"}}});
  check_golden("fixes", c.text());
}

TEST_CASE("text: a line wider than the terminal is cut around its marks") {
  Case c;
  const auto file = c.sources.add(
      "wide.loop", "values = [" + std::string(300, '1') + ", wrong, " + std::string(300, '2') + "]\n");
  c.report(c.at(file, "wrong"), "not a number").with_label("a name");
  c.report(c.at(file, "values"), "also here");
  const std::string shown = c.text({.max_width = 80});
  check_golden("wide", shown);
  std::istringstream lines(shown);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 90);  // bytes; `…` has three
}

TEST_CASE("text: colours only when asked for, every one ended") {
  Case c;
  const auto file = c.sources.add("a.loop", "a = 1\n");
  c.report(c.at(file, "1"), "wrong").with_label("here").also(c.at(file, "a"), "there");
  CHECK(c.text().find('\x1b') == std::string::npos);
  const std::string colored = c.text({.color = true});
  CHECK(colored.find("\x1b[1;31merror[L990 not-available]") != std::string::npos);
  std::string plain;
  for (size_t i = 0; i < colored.size(); ++i) {
    if (colored[i] == '\x1b') {
      i = colored.find('m', i);
    } else {
      plain += colored[i];
    }
  }
  CHECK(plain == c.text());
}

TEST_CASE("text: nothing for no findings") {
  Case c;
  CHECK(c.text().empty());
  CHECK(summary({}).empty());
}

TEST_CASE("summary: counts what occurs") {
  Case c;
  const auto a = c.sources.add("a.loop", "a\n");
  const auto b = c.sources.add("b.loop", "b\n");
  c.report({a, 0, 1}, "1");
  c.report({a, 0, 1}, "2");
  c.report({a, 0, 1}, "3", Severity::warning);
  CHECK(summary(c.engine.diagnostics()) == "2 errors, 1 warning in 1 file");
  c.report({b, 0, 1}, "4", Severity::note);
  CHECK(summary(c.engine.diagnostics()) == "2 errors, 1 warning, 1 note in 2 files");
}

TEST_CASE("json: code, severity, message and place of each finding, valid whatever the text holds") {
  Case c;
  const auto file = c.sources.add("a.loop", "é = \xff \"x\"\n");
  c.report(c.at(file, "\"x\""), "not \xff text", Severity::warning)
      .with_label("l")
      .also(c.at(file, "é"), "other")
      .note("n")
      .help("h")
      .fix({"t", Certainty::certain, {{c.at(file, "\"x\""), "y"}}});
  c.report({}, "nowhere");
  std::ostringstream out;
  render_json(out, c.sources, c.engine.diagnostics());
  const auto document = nlohmann::json::parse(out.str());
  CHECK(document["version"] == 1);
  REQUIRE(document["diagnostics"].size() == 2);
  const auto& first = document["diagnostics"][0];
  CHECK(first["code"] == "L990");
  CHECK(first["name"] == "not-available");
  CHECK(first["severity"] == "warning");
  CHECK(first["path"] == "a.loop");
  CHECK(first["line"] == 1);
  CHECK(first["column"] == 7);
  CHECK(first["end_line"] == 1);
  CHECK(first["end_column"] == 10);
  CHECK(first["labels"][0]["column"] == 1);
  CHECK(first["notes"][0] == "n");
  CHECK(first["helps"][0] == "h");
  CHECK(first["fixes"][0]["certainty"] == "certain");
  CHECK(first["fixes"][0]["edits"][0]["text"] == "y");
  CHECK(document["diagnostics"][1]["path"].is_null());
  CHECK(document["summary"]["errors"] == 1);
  CHECK(document["summary"]["warnings"] == 1);
  CHECK(document["summary"]["files"] == 1);
}

TEST_CASE("colours: never without a terminal, never with NO_COLOR") {
  CHECK_FALSE(want_color(-1));
  setenv("NO_COLOR", "1", 1);
  CHECK_FALSE(want_color(1));
  unsetenv("NO_COLOR");
}
