// Hostile texts end in a finding.
#include <doctest/doctest.h>

#include "compiler/base/limits.h"
#include "tests/unit/syntax/parsed.h"

using loop::base::kMaxExpressionDepth;
using loop::base::kMaxFileBytes;
using loop::base::kMaxNesting;
using loop::diagnostics::Code;
using loop::testing::Parsed;

namespace {

constexpr size_t kMany = 100000;

std::string repeat(const std::string& text, size_t count) {
  std::string out;
  out.reserve(text.size() * count);
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

void check_only(const std::string& text, Code code) {
  const Parsed parsed(text);
  REQUIRE(parsed.engine.diagnostics().size() == 1);
  CHECK(parsed.engine.diagnostics()[0].code == code);
}

}  // namespace

TEST_CASE("a hundred thousand open brackets") {
  check_only("x = " + repeat("(", kMany), Code::L010);
  check_only("x = " + repeat("[", kMany) + "1" + repeat("]", kMany), Code::L010);
  check_only("x = " + repeat("f(", kMany), Code::L010);
  check_only(repeat("a {\n", kMany), Code::L010);
  check_only(repeat("when a { ", kMany) + repeat("}", kMany), Code::L010);
}

TEST_CASE("prefix operators and conditions nest too") {
  check_only("x = " + repeat("-", kMany) + "1", Code::L010);
  check_only("x = " + repeat("not ", kMany) + "a", Code::L010);
  check_only("x = " + repeat("if a then b else ", kMany) + "c", Code::L010);
  check_only("x = " + repeat("if ", kMany), Code::L010);
  check_only("x = " + repeat("-(", kMany), Code::L010);
}

TEST_CASE("the nesting limit is exact") {
  const auto nested = [](size_t depth) { return "x = " + repeat("(", depth) + "1" + repeat(")", depth); };
  CHECK(Parsed(nested(kMaxNesting)).findings() == "");
  check_only(nested(kMaxNesting + 1), Code::L010);
  const auto blocks = [](size_t depth) { return repeat("a {", depth) + repeat("}", depth); };
  CHECK(Parsed(blocks(kMaxNesting)).findings() == "");
  check_only(blocks(kMaxNesting + 1), Code::L010);
}

TEST_CASE("chains of operators are bounded and end no other statement") {
  const std::vector<std::string> operators = {"+", "-", "*", "/", "^", " and ", " or "};
  for (const std::string& op : operators) {
    const Parsed parsed("x = a" + repeat(op + "a", kMany) + "\ny = 3\n");
    REQUIRE(parsed.engine.diagnostics().size() == 1);
    CHECK(parsed.engine.diagnostics()[0].code == Code::L014);
    CHECK(parsed.tree() == "(y = 3)\n");
  }
  CHECK(Parsed("x = a" + repeat(" + a", kMaxExpressionDepth - 1)).findings() == "");
  check_only("x = a" + repeat(" + a", kMaxExpressionDepth), Code::L014);
  // Chains inside brackets add up.
  const std::string inner = repeat("a + ", 600);
  check_only("x = (" + inner + "a) + " + inner + "a", Code::L014);
}

TEST_CASE("a comparison that chains a hundred thousand times") {
  check_only("x = a" + repeat(" < a", kMany), Code::L015);
}

TEST_CASE("wide is not deep") {
  CHECK(Parsed("x = f(" + repeat("a, ", kMany) + ")").findings() == "");
  CHECK(Parsed("x = [" + repeat("-1, ", kMany) + "]").findings() == "");
  CHECK(Parsed("x = a" + repeat(".a", kMany)).findings() == "");
  CHECK(Parsed("step on a" + repeat(", a", kMany)).findings() == "");
  CHECK(Parsed(repeat("a;", kMany)).findings() == "");
  CHECK(Parsed("a {" + repeat("\n", kMany) + "}").findings() == "");
}

TEST_CASE("the size limit") {
  std::string text = "x = 1 #";
  text.resize(kMaxFileBytes, '.');
  CHECK(Parsed(text).findings() == "");
  check_only(text + ".", Code::L011);
}

TEST_CASE("bytes that are not UTF-8") {
  check_only("x = \"\xFF\"", Code::L012);
  check_only("# \xC3", Code::L012);
  check_only("# \xC0\x80", Code::L012);          // overlong
  check_only("# \xED\xA0\x80", Code::L012);      // a surrogate
  check_only("# \xF4\x90\x80\x80", Code::L012);  // above U+10FFFF
  CHECK(Parsed("# \xF4\x8F\xBF\xBF \xED\x9F\xBF \xE0\xA0\x80").findings() == "");
  const Parsed parsed("a = 1\nb = \"\xFF\"");
  CHECK(parsed.engine.diagnostics()[0].span.begin == 11);
}
