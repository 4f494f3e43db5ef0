// What is said about broken texts, and what is still read of them.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/syntax/parsed.h"

using loop::testing::findings_of;
using loop::testing::Parsed;

TEST_CASE("a missing value is said at what asks for it") {
  CHECK(findings_of("seed =\nmodel = gpt()") ==
        "L002 1:6 expected a value after `=`, found the end of the line\n");
  CHECK(findings_of("a = 1 +\nb = 2") == "L002 1:7 expected a value after `+`, found the end of the line\n");
  CHECK(findings_of("data =\nwindow { }") ==
        "L002 1:6 expected a value after `=`, found the end of the line\n");
  CHECK(findings_of("a { b = }") == "L002 1:7 expected a value after `=`, found `}`\n");
  CHECK(findings_of("a = ;") == "L002 1:3 expected a value after `=`, found `;`\n");
  CHECK(findings_of("a =") == "L002 1:3 expected a value after `=`, found the end of the file\n");
  CHECK(findings_of("a = f(b: )") == "L002 1:10 expected a value after `:`, found `)`\n");
  CHECK(findings_of("a = 2 * then") == "L002 1:9 expected a value after `*`, found `then`\n");
  CHECK(findings_of("a = f(1,, 2)") == "L002 1:9 expected a value after `,`, found another `,`\n");
  CHECK(findings_of("a = [,]") == "L002 1:6 expected a value after `[`, found `,`\n");
  CHECK(findings_of("when { a }") == "L002 1:6 expected a value after `when`, found `{`\n");
}

TEST_CASE("unexpected text names what would fit") {
  CHECK(findings_of("params: 3") == "L001 1:7 expected `=` after `params`, found `:`\n");
  CHECK(findings_of("window 3") == "L001 1:8 expected `=`, `(` or `{` after `window`, found `3`\n");
  CHECK(findings_of("a = 4 micro_batches more") ==
        "L001 1:21 expected a new line or `;` after `micro_batches`, found `more`\n");
  CHECK(findings_of("a = f(b c)") == "L001 1:9 expected `:`, `,` or `)`, found `c`\n");
  CHECK(findings_of("a = f(1 2)") == "L001 1:9 expected `,` or `)`, found `2`\n");
  CHECK(findings_of("a = [1 2]") == "L001 1:8 expected `,` or `]`, found `2`\n");
  CHECK(findings_of("a = (1 2)") == "L001 1:8 expected `)`, found `2`\n");
  CHECK(findings_of("a = if b then c") == "L001 1:15 expected `else` after `c`, found the end of the file\n");
  CHECK(findings_of("a = if b") == "L001 1:8 expected `then` after `b`, found the end of the file\n");
  CHECK(findings_of("when finite\nb = 1") ==
        "L001 1:6 expected `{` after `finite`, found the end of the line\n");
  CHECK(findings_of("loss = f() per") ==
        "L001 1:12 expected a unit or a number after `per`, found the end of the file\n");
  CHECK(findings_of("clip(norm: 1) on") ==
        "L001 1:15 expected a name after `on`, found the end of the file\n");
  CHECK(findings_of("use 3") == "L001 1:5 expected a module's name, found `3`\n");
  CHECK(findings_of("use") == "L001 1:1 expected a module's name after `use`, found the end of the file\n");
  CHECK(findings_of("= 3") == "L001 1:1 expected a statement, found `=`\n");
  CHECK(findings_of("\"text\"") == "L001 1:1 expected a statement, found `\"text\"`\n");
  CHECK(findings_of("a = f(x in [0 1))") == "L001 1:15 expected `,`, found `1`\n");
  CHECK(findings_of("a = f(b.c: 1)") == "L001 1:7 expected an argument's name before `:`, found `b.c`\n");
  CHECK(findings_of("a = 1 -> 2 -> 3") ==
        "L001 1:12 expected a range of two ends, `from -> to`, found another `->`\n");
  CHECK(findings_of("a = b.\nc = 1") == "L001 1:6 expected a name after `.`, found the end of the line\n");
}

TEST_CASE("hints for habits from elsewhere") {
  const auto help_of = [](const std::string& text) {
    const Parsed parsed(text);
    REQUIRE(parsed.engine.diagnostics().size() == 1);
    REQUIRE(parsed.engine.diagnostics()[0].helps.size() == 1);
    return parsed.engine.diagnostics()[0].helps[0];
  };
  CHECK(help_of("a = 1 // no") == "comments start with `#`");
  CHECK(help_of("// no\na = 1") == "comments start with `#`");
  CHECK(help_of("a = b && c") == "conditions are joined by `and`");
  CHECK(help_of("a = b || c") == "alternatives are joined by `or`");
  CHECK(help_of("a = !b") == "write `not` for negation and `!=` for inequality");
  CHECK(help_of("a = 'x'") == "strings are written in double quotes");
  CHECK(help_of("a = b ** 2") == "powers are written with `^`");
  CHECK(help_of("a = 7 % 2") == "a percentage is one word, as in `90%`; the remainder is `mod(a, b)`");
  CHECK(help_of("a = 1 + if b then c else d") == "put `if … then … else …` in parentheses");
  CHECK(help_of("data = { a }") == "a block follows its name directly, without `=`");
  CHECK(help_of("a = b <-1") ==
        "`<-` gives a state its next value; to compare with a negative number write `< -`");
  CHECK(help_of("when a <-1 { b }") ==
        "`<-` gives a state its next value; to compare with a negative number write `< -`");
  CHECK(help_of("a = (2 + 3) updates") == "a unit stands directly after a number, as in `4 micro_batches`");
  CHECK(help_of("a = b = c") == "`==` compares");
  CHECK(help_of("a = f(b + 1 = c)") == "`==` compares");
  CHECK(help_of("a = \"C:\\data\"").find("a backslash itself is `\\\\`") != std::string::npos);
}

TEST_CASE("words that are none") {
  CHECK(findings_of("a = \"open\nb = 2") ==
        "L006 1:5 this string is never closed: a string ends with `\"` on its own line\n");
  CHECK(findings_of("a = \"x\\q\"") == "L007 1:7 `\\q` means nothing in a string\n");
  CHECK(findings_of("a = \"\\u{D800}\"") == "L007 1:6 `\\u` means nothing in a string\n");
  CHECK(findings_of("a = @") == "L008 1:5 `@` is not part of the language\n");
  CHECK(findings_of("a = é") == "L008 1:5 `é` is not part of the language\n");
  CHECK(findings_of(std::string("a = \0", 5)) ==
        "L008 1:5 a control character is not part of the language\n");
  CHECK(findings_of("a = 1__0") == "L009 1:5 `1__0` is not a number: `_` stands between two digits\n");
  CHECK(findings_of("a = 1_") == "L009 1:5 `1_` is not a number: `_` stands between two digits\n");
  CHECK(findings_of("a = 1e400") ==
        "L009 1:5 `1e400` is not a number: it is outside the range of double precision\n");
  CHECK(findings_of("a = 1e-400%") ==
        "L009 1:5 `1e-400%` is not a number: it is outside the range of double precision\n");
  CHECK(findings_of("a = 1 < b < 2") ==
        "L015 1:11 comparisons do not chain: `<` follows a comparison that is already complete\n");
}

TEST_CASE("an unclosed bracket is said at the bracket, once") {
  const Parsed parsed(
      "loop a {\n  model = gpt(\n    layers: 4,\n    heads: 4\n  data {\n    x = 1\n  }\n}\n");
  CHECK(parsed.findings() == "L003 2:14 this `(` is never closed\n");
  CHECK(parsed.tree() == "(loop a {(data {(x = 1)})})\n");
  const auto& finding = parsed.engine.diagnostics()[0];
  CHECK(finding.label == "opened here");
  REQUIRE(finding.labels.size() == 1);
  CHECK(finding.labels[0].text == "expected `)` before this");

  CHECK(findings_of("a = f(1\nb = 2\nc = 3") == "L003 1:6 this `(` is never closed\n");
  CHECK(findings_of("a = f([1, 2)\nb = 2") == "L003 1:7 this `[` is never closed\n");
  CHECK(findings_of("a = f(1]") == "L005 1:8 this `]` does not close `(`; expected `)`\n");
  CHECK(findings_of("a = 1)\nb = 2") ==
        "L004 1:6 this `)` closes nothing: there is no `(` before it that is still open\n");
}

TEST_CASE("the indentation tells which brace is missing") {
  const Parsed parsed(
      "loop a {\n  window {\n    size = 4 samples\n  update {\n    zero_grad\n  }\n}\nloop b { }\n");
  CHECK(parsed.findings() == "L003 2:10 this `{` is never closed\n");
  CHECK(parsed.tree() == "(loop a {(window {(size = 4 samples)}) (update {(zero_grad)})})\n(loop b {})\n");

  const Parsed at_end("loop a {\n  window {\n    size = 4 samples\n  }\n");
  CHECK(at_end.findings() == "L003 1:8 this `{` is never closed\n");
  CHECK(at_end.tree() == "(loop a {(window {(size = 4 samples)})})\n");

  const Parsed cut("loop a {\n  window {\n    size = 4");
  CHECK(cut.findings() == "L003 2:10 this `{` is never closed\n");
  REQUIRE(cut.engine.diagnostics()[0].labels.size() == 2);
  CHECK(cut.engine.diagnostics()[0].labels[0].text == "nor is this one");

  const Parsed extra("loop a {\n  x = 1\n}\n}\nb = 2\n");
  CHECK(extra.findings() ==
        "L004 4:1 this `}` closes nothing: there is no `{` before it that is still open\n");
  CHECK(extra.tree() == "(loop a {(x = 1)})\n(b = 2)\n");
}

TEST_CASE("a string that swallows its line's brackets gives one finding") {
  const Parsed parsed(
      "data {\n  train = text(\"corpus.txt, take: all)\n  other = 1\n}\nlog { path = \"x }\nlast = 2\n");
  CHECK(parsed.findings() ==
        "L006 2:16 this string is never closed: a string ends with `\"` on its own line\n"
        "L006 5:14 this string is never closed: a string ends with `\"` on its own line\n");
  CHECK(parsed.tree() == "(data {(other = 1)})\n(log {})\n(last = 2)\n");
}

TEST_CASE("one finding for each broken statement, the others are read") {
  const Parsed parsed(
      "a = 1 2 3 + ) @\n"
      "b = 2\n"
      "loop c {\n"
      "  d = = 1\n"
      "  e { f = }; g = 7\n"
      "  h = 3 $ 4\n"
      "  i = 4\n"
      "}\n"
      "loop bad name here {\n"
      "  j = 1 1\n"
      "  k = 2\n"
      "}\n"
      "l = 5\n");
  CHECK(parsed.tree() == "(b = 2)\n(loop c {(e {}) (g = 7) (i = 4)})\n(l = 5)\n");
  const std::string findings = parsed.findings();
  CHECK(std::count(findings.begin(), findings.end(), '\n') == 7);  // line 1 has a bracket and a character
  CHECK(parsed.result.had_errors);
}

TEST_CASE("findings come in the order of the text and stop at the limit") {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "a = = 1\n";
  const Parsed parsed(text);
  const auto& findings = parsed.engine.diagnostics();
  REQUIRE(findings.size() == 51);
  CHECK(findings.back().code == loop::diagnostics::Code::L013);
  for (size_t i = 1; i < findings.size(); ++i) CHECK(findings[i - 1].span.begin < findings[i].span.begin);
}
