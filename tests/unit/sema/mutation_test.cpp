// Random changes of complete loops: every text gives findings or a spec, and what is accepted is accepted
// again when resolved.
#include <doctest/doctest.h>

#include "tests/support/spec_generator.h"
#include "tests/unit/sema/analysis.h"

using namespace loop;
using loop::testing::Analysis;

TEST_CASE("mutated loops give findings or a spec, never a crash") {
  testing::SpecGenerator generator(20);
  int accepted = 0;
  for (int round = 0; round < 400; ++round) {
    std::string text = generator.training_loop();
    if (round % 4 != 0) text = generator.mutate(std::move(text), 1 + round % 3);
    CAPTURE(text);
    Analysis analysis(text);
    if (analysis.engine.has_errors()) continue;
    REQUIRE_FALSE(analysis.result.specs.empty());
    ++accepted;
    Analysis again(analysis.spec().resolved_text);
    CAPTURE(analysis.spec().resolved_text);
    CAPTURE(again.text());
    CHECK_FALSE(again.engine.has_errors());
    REQUIRE_FALSE(again.result.specs.empty());
    CHECK(again.spec().resolved_text == analysis.spec().resolved_text);
    CHECK(again.spec().model.component == analysis.spec().model.component);
    CHECK(again.spec().count_classes == analysis.spec().count_classes);
  }
  CHECK(accepted > 20);
}

TEST_CASE("any program of the grammar gives findings, never a crash") {
  testing::SpecGenerator generator(21);
  for (int round = 0; round < 300; ++round) {
    std::string text = generator.program();
    CAPTURE(text);
    CHECK(Analysis(text).engine.has_errors());
  }
}
