// Any bytes end in a tree and findings: no crash, no hang, no finding outside the text.
#include <doctest/doctest.h>

#include "tests/support/spec_generator.h"
#include "tests/unit/syntax/parsed.h"

using loop::testing::Parsed;
using loop::testing::SpecGenerator;

namespace {

void check_sane(const std::string& text) {
  const Parsed parsed(text);
  REQUIRE(parsed.result.had_errors == parsed.engine.has_errors());
  for (const auto& finding : parsed.engine.diagnostics()) {
    REQUIRE(finding.span.begin <= finding.span.end);
    REQUIRE(finding.span.end <= text.size());
    REQUIRE_FALSE(finding.message.empty());
  }
  if (!parsed.result.had_errors) REQUIRE(Parsed(parsed.formatted()).tree() == parsed.tree());
}

}  // namespace

TEST_CASE("a file cut after any byte") {
  const std::string loop = SpecGenerator(1).training_loop() +
                           "schedule f(x = 1 in [0, 1), y) =\n  if x then -y else \"ü\\n\" # ü\n";
  for (size_t length = 0; length <= loop.size(); ++length) check_sane(loop.substr(0, length));
}

TEST_CASE("a file without any one byte") {
  const std::string loop = SpecGenerator(2).training_loop();
  for (size_t at = 0; at < loop.size(); ++at) check_sane(loop.substr(0, at) + loop.substr(at + 1));
}

TEST_CASE("random changes of bytes") {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SpecGenerator generator(seed);
    const std::string loop = generator.below(2) == 0 ? generator.training_loop() : generator.program();
    const std::string text = generator.mutate(loop, static_cast<int>(1 + generator.below(8)));
    CAPTURE(seed);
    check_sane(text);
  }
}

TEST_CASE("random bytes") {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SpecGenerator generator(seed);
    std::string text;
    for (uint64_t i = generator.below(300); i > 0; --i)
      text.push_back(static_cast<char>(generator.below(128)));
    CAPTURE(seed);
    check_sane(text);
  }
}

TEST_CASE("random marks of the language") {
  const std::vector<std::string> marks = {
      "{",     "}",      "(",    ")",   "[",        "]",  "\n",  ";",      "=",  "<-", "->",   "if ",
      "then ", "else ",  "not ", "-",   "+",        "<",  ",",   ":",      ".",  "a ", "use ", "when ",
      "on ",   "every ", "per ", "in ", "extends ", "1 ", "9% ", "\"s\" ", "\"", "#"};
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    SpecGenerator generator(seed);
    std::string text;
    for (uint64_t i = generator.below(60); i > 0; --i) text += marks[generator.below(marks.size())];
    CAPTURE(seed);
    CAPTURE(text);
    check_sane(text);
  }
}

TEST_CASE("a hundred thousand lines are read") {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "key = value(x: 1) + 2\n";
  CHECK(Parsed(text).result.file.items.size() == 100000);
}
