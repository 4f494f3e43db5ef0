// What the plan's passes decide: by the text of an update block.
#include <doctest/doctest.h>

#include "compiler/plan/lower.h"
#include "compiler/plan/passes/passes.h"
#include "compiler/plan/update_traffic.h"
#include "tests/unit/sema/analysis.h"

using namespace loop;

namespace {

plan::Plan planned(const std::string& update, const std::string& more = "") {
  std::string text = loop::testing::replace(loop::testing::kTiny, "update { step sgd(lr: 0.1) }", update);
  text = loop::testing::replace(text, "stop = 100 updates", more + "\n  stop = 100 updates");
  const loop::testing::Analysis analysis("use std.optimizers.adamw\n" + text);
  plan::Plan plan = planner::lower(analysis.spec(), analysis.sources);
  for (const planner::Pass& pass : planner::passes()) pass.run(plan);
  return plan;
}

/// The update block's operations: "-" as it stands, "f" folded, "z" leaves zeros.
std::string marks(const plan::Plan& plan) {
  std::string text;
  for (const plan::Operation& operation : plan.update)
    text += operation.folded ? "f" : operation.zeroes ? "z" : "-";
  return text;
}

const std::string kGroups = "params { matrices = ndim >= 2; rest = others }";

}  // namespace

TEST_CASE("factors and zeros fold into the steps where nothing else looks at the gradient") {
  CHECK(marks(planned("update { step sgd(lr: 0.1) }")) == "fzf");  // the canonical order around it
  CHECK(marks(planned("update { normalize; clip(norm: 1); step sgd(lr: 0.1); zero_grad }")) == "ffzf");
  CHECK(marks(planned("update { normalize; scale_grad(2); clip(norm: 1); step sgd(lr: 0.1); tick updates; "
                      "zero_grad }")) == "fffz-f");
  // A pass of its own: what stands before it must be in memory by then.
  CHECK(marks(planned("update { normalize; clip(value: 1); step sgd(lr: 0.1); zero_grad }")) == "--zf");
  CHECK(marks(planned("update { normalize; clip(value: 1); clip(norm: 1); step sgd(lr: 0.1); zero_grad }")) ==
        "--fzf");
  CHECK(marks(planned("update { normalize; when finite { step sgd(lr: 0.1) }; zero_grad }")) == "---");
  // A gradient that nobody zeroes lives on.
  CHECK(marks(planned("update { normalize; step sgd(lr: 0.1) }")) == "--");
}

TEST_CASE("steps leave zeros only if they reach every group once, and nothing follows that reads") {
  const std::string both = "step sgd(lr: 0.1) on matrices; step adamw(lr: 0.1) on rest; ";
  CHECK(marks(planned("update { normalize; " + both + "zero_grad }", kGroups)) == "fzzf");
  CHECK(marks(planned("update { normalize; clip(norm: 1) on rest; " + both + "zero_grad }", kGroups)) ==
        "ffzzf");
  CHECK(marks(planned("update { normalize; step sgd(lr: 0.1) on matrices; zero_grad }", kGroups)) == "f--");
  CHECK(marks(planned("update { normalize; step sgd(lr: 0.1); clip(norm: 1); zero_grad }")) == "f-f-");
  CHECK(marks(planned("update { normalize; step sgd(lr: 0.1); step sgd(lr: 0.1); zero_grad }")) == "f---");
}

TEST_CASE("branches that constants decide are gone, with the states they alone read") {
  const auto states = [](const std::string& update) {
    const plan::Plan plan = planned(update);
    return plan.rules.at(0).states.size();
  };
  CHECK(states("update { step sgd(lr: 0.1) }") == 0);
  CHECK(states("update { step sgd(lr: 0.1, momentum: 0.9) }") == 1);
  const plan::Plan plan = planned("update { step sgd(lr: 0.1, weight_decay: 0.5) }");
  REQUIRE(plan.rules.at(0).statements.size() == 3);
  CHECK(plan::to_text(plan.rules[0].statements[0].value) == "grad + weight_decay * param");
  CHECK(plan::to_text(plan.rules[0].statements[1].value) == "g");
  CHECK(plan::to_text(plan.rules[0].statements[2].value) == "param - lr * u");
  // Steps that differ share what the rule says of both.
  const plan::Plan two = planned(
      "update { normalize; step sgd(lr: 0.1) on matrices; "
      "step sgd(lr: 0.1, momentum: 0.9) on rest; zero_grad }",
      kGroups);
  REQUIRE(two.rules.size() == 1);
  CHECK(two.rules[0].states.size() == 1);
}

TEST_CASE("memory traffic of the window's end") {
  const std::string update = "update { normalize; clip(norm: 1); step adamw(lr: 0.1); zero_grad }";
  plan::Plan plan = planned(update);
  // norm 4; parameter 8, gradient 4 and its zeros 4, two states 8 each
  CHECK(planner::update_traffic(plan).most == 36);
  for (plan::Operation& operation : plan.update) operation.folded = operation.zeroes = false;
  // normalize 8, norm 4, clip 8, judge 4, step 8 + 4 + 16, zeros 4
  CHECK(planner::update_traffic(plan).most == 56);
}
