#include <doctest/doctest.h>

#include "tests/unit/sema/analysis.h"

using namespace loop;
using loop::testing::Analysis;
using loop::testing::kTiny;
using loop::testing::replace;

TEST_CASE("constants inside constants do not fill the memory") {
  std::string text;
  for (int level = 0; level < 30; ++level) {
    std::string inner = level == 0 ? "1" : "c" + std::to_string(level - 1);
    text += "const c" + std::to_string(level) + " = [";
    for (int i = 0; i < 8; ++i) text += (i > 0 ? ", " : "") + inner;
    text += "]\n";
  }
  CHECK(Analysis(text + replace(kTiny, "[8]", "c29")).has("L048"));

  std::string sums;
  for (int level = 0; level < 60; ++level) {
    std::string inner = level == 0 ? "1" : "c" + std::to_string(level - 1);
    sums += "const c" + std::to_string(level) + " = " + inner + " + " + inner + "\n";
  }
  CHECK(Analysis(sums + replace(kTiny, "lr: 0.1", "lr: c59")).has("L048"));
}

TEST_CASE("schedules inside schedules do not fill the memory") {
  std::string value = "0.1";
  for (int level = 0; level < 40; ++level) value = "warmup(peak: " + value + ", warmup: 5 updates)";
  CHECK(Analysis("use std.schedules.warmup\n" + replace(kTiny, "lr: 0.1", "lr: " + value)).has("L048"));
}

TEST_CASE("a model of absurd size is refused at once") {
  Analysis layers(
      replace(replace(kTiny, "mlp(hidden: [8])", "gpt(layers: 1e9, heads: 1, width: 8, context: 8)"), "csv(",
              "csv("));
  CHECK(layers.has("L049"));
}

TEST_CASE("a long chain of operators is read without deep recursion") {
  std::string sum = "1";
  for (int i = 0; i < 900; ++i) sum += " + 1";
  Analysis analysis(replace(kTiny, "lr: 0.1", "lr: 1 / (" + sum + ")"));
  CAPTURE(analysis.text());
  CHECK(analysis.spec().update.operations[1].op.rule.find("lr")->value == doctest::Approx(1.0 / 901));
}

TEST_CASE("any cut of a spec gives findings, never a crash") {
  std::string text = replace(kTiny, "lr: 0.1", "lr: if 1 < 2 then 0.1 else 3 * 0.1");
  for (size_t end = 0; end < text.size(); end += 3) {
    Analysis analysis(text.substr(0, end));
    CHECK((analysis.engine.has_errors() || end + 2 > text.size()));
  }
}
