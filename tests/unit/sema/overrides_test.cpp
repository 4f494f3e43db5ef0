#include <doctest/doctest.h>

#include "tests/unit/sema/analysis.h"

using namespace loop;
using loop::testing::Analysis;
using loop::testing::kTiny;
using loop::testing::replace;

TEST_CASE("an override replaces a key, adds a key, and reaches into named blocks and calls") {
  std::string text =
      replace(kTiny, "  stop", "  evaluate held_out { on = valid; every = 10 updates }\n  stop");
  Analysis analysis(text,
                    {"window.size=16 micro_batches", "seed=7", "evaluate.held_out.every=5 updates or 10 min",
                     "model.hidden=[4, 4]", "log.path=\"elsewhere\""});
  CAPTURE(analysis.text());
  const sema::Spec& spec = analysis.spec();
  CHECK(spec.window.size.value.value == 16);
  CHECK(spec.seed.value == 7);
  REQUIRE(spec.evaluations[0].evaluation.every.size() == 2);
  CHECK(spec.evaluations[0].evaluation.every[1].value == 600);
  CHECK(spec.model.component.args["hidden"] == plan::json::array({4, 4}));
  CHECK(spec.log.value.path == "elsewhere");
  CHECK(spec.overrides.size() == 5);
  CHECK(spec.resolved_text.find("size = 16 micro_batches") != std::string::npos);
}

TEST_CASE("an override is checked like the file, at a place of its own") {
  Analysis unit(kTiny, {"window.size=16 updates"});
  CHECK(unit.sources.file(unit.finding("L052").span.file).path() == "--set window.size");
  CHECK(unit.place("L052") == "16 updates");
  Analysis key(kTiny, {"window.sise=16 micro_batches"});
  CHECK(key.sources.file(key.finding("L040").span.file).path() == "--set window.sise");
  CHECK(Analysis(kTiny, {"window.size=1 +"}).engine.has_errors());
}

TEST_CASE("malformed and misplaced overrides") {
  for (const char* text : {"window.size", "=3", "window..size=3 samples", "window.size=", "3x=4", "a b=3"})
    CHECK_MESSAGE(Analysis(kTiny, {text}).has("L090"), text);
  for (const char* text :
       {"update.clip=3", "micro=3", "evaluate.nowhere.every=3 updates", "seed.x=3", "data=3", "params=3"}) {
    Analysis analysis(kTiny, {text});
    CAPTURE(text);
    CAPTURE(analysis.text());
    CHECK((analysis.has("L091") || analysis.has("L044")));
  }
}

TEST_CASE("extends overrides block by block and key by key") {
  Analysis analysis(kTiny + R"(
loop longer extends tiny {
  window { size = 2 micro_batches }
  update { step sgd(lr: 0.2, momentum: 0.9) }
  seed = 5
}
)");
  CAPTURE(analysis.text());
  REQUIRE(analysis.result.specs.size() == 2);
  const sema::Spec& spec = analysis.spec(1);
  CHECK(spec.window.size.value.value == 2);
  CHECK(spec.window.tail.value == plan::Tail::flush);  // inherited
  CHECK(spec.seed.value == 5);
  CHECK(spec.stop[0].condition.limit.value == 100);
  CHECK(analysis.spec(0).window.size.value.value == 4);  // the base is as it was
}

TEST_CASE("a base need not be complete, a loop must be") {
  std::string base = replace(kTiny, "  stop = 100 updates\n", "");
  Analysis extended(base + "\nloop x extends tiny { stop = 3 updates }\n");
  CAPTURE(extended.text());
  CHECK(extended.engine.diagnostics().empty());
  REQUIRE(extended.result.specs.size() == 1);
  CHECK(extended.spec().name == "x");
  CHECK(Analysis(base).has("L081"));
}

TEST_CASE("a recipe is a loop with parameters") {
  std::string recipe =
      replace(replace(replace(kTiny, "loop tiny", "recipe family(width, rate = 0.1 in (0, 1])"), "[8]",
                      "[width, 2 * width]"),
              "lr: 0.1", "lr: rate");
  Analysis analysis(recipe +
                    "\nloop small = family(width: 4)\nloop large = family(width: 64, rate: 0.01)\nloop tuned "
                    "= family(8) { seed = 9 }\n");
  CAPTURE(analysis.text());
  CHECK(analysis.engine.diagnostics().empty());
  REQUIRE(analysis.result.specs.size() == 3);
  CHECK(analysis.spec(0).model.component.args["hidden"] == plan::json::array({4, 8}));
  CHECK(analysis.spec(1).model.component.args["hidden"] == plan::json::array({64, 128}));
  CHECK(analysis.spec(1).update.operations[1].op.rule.find("lr")->value == 0.01);
  CHECK(analysis.spec(2).seed.value == 9);
  CHECK(Analysis(recipe + "\nloop x = family()\n").has("L067"));
  CHECK(Analysis(recipe + "\nloop x = family(wdth: 3)\n").place("L066") == "wdth");
  CHECK(Analysis(recipe + "\nloop x = family(width: 3, rate: 2)\n").place("L057") == "2");
  CHECK(Analysis(recipe).has("L093"));
}

TEST_CASE("the resolved text is a spec of its own and means the same") {
  std::string text =
      replace(replace("const rate = 0.1\nconst width = 4\n" + kTiny, "lr: 0.1", "lr: rate / 2"), "[8]",
              "[width, 2 * (width + 1)]") +
      "\noptimizer plain(lr) {\n  param <- param - lr * grad\n}\n\nloop x extends tiny {\n  update { step "
      "plain(lr: 0.3) }\n  loss { main = 0.5 * cross_entropy(label_smoothing: 0.1) per "
      "samples }\n}\n";
  Analysis first(text, {"window.size=2 micro_batches"});
  CAPTURE(first.text());
  REQUIRE(first.result.specs.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    Analysis again(first.spec(i).resolved_text);
    CAPTURE(first.spec(i).resolved_text);
    CAPTURE(again.text());
    REQUIRE(again.result.specs.size() == 1);
    CHECK(again.engine.diagnostics().empty());
    CHECK(again.spec().resolved_text == first.spec(i).resolved_text);
    CHECK(again.spec().model.component == first.spec(i).model.component);
    CHECK(again.spec().window.size.value == first.spec(i).window.size.value);
    CHECK(again.spec().update.operations[1].op.rule == first.spec(i).update.operations[1].op.rule);
    CHECK(again.spec().terms[0].term == first.spec(i).terms[0].term);
  }
}

TEST_CASE("one loop can be chosen by name") {
  std::string text = kTiny + "\nloop second extends tiny { seed = 2 }\n";
  CHECK(Analysis(text, {}, "second").spec().seed.value == 2);
  Analysis unknown(text, {}, "secnd");
  CHECK(unknown.has("L038"));
  CHECK(unknown.finding("L038").helps[0].find("second") != std::string::npos);
}
