#include "runtime/plan/json.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

using namespace loop::plan;

namespace {

Plan example() {
  Plan plan;
  plan.loop_name = "tiny";
  plan.base_dir = "/somewhere";
  plan.seed = std::numeric_limits<uint64_t>::max();
  plan.model = {"mlp", {{"hidden", {8, 8}}, {"activation", "relu"}}};
  plan.data.sources = {
      {"train", {"csv", {{"path", "a.csv"}, {"take", {{"call", "first"}, {"args", {0.9}}}}}}}};
  plan.data.train = "train";
  plan.data.micro_batch_samples = 4;
  Group group;
  group.name = "decayed";
  group.predicate.kind = Predicate::Kind::logical_and;
  group.predicate.operands.resize(2);
  group.predicate.operands[0].kind = Predicate::Kind::ndim;
  group.predicate.operands[0].comparison = ">=";
  group.predicate.operands[0].ndim = 2;
  group.predicate.operands[1].kind = Predicate::Kind::name_glob;
  group.predicate.operands[1].glob = "*.weight";
  plan.groups = {group};
  CountClass tokens;
  tokens.ignore = -100;
  plan.count_classes = {tokens};
  plan.window.size.ramp = WindowSize::Ramp{1, Clock::updates, 1000};
  plan.window.tail = Tail::carry;
  Operation sync;
  sync.kind = OpKind::sync_on;
  Operation scale;
  scale.kind = OpKind::scale_loss;
  scale.factor.powers = {{Power::Symbol::loss_scale, -1, "", 1},
                         {Power::Symbol::count_global, 0, "tokens", -1}};
  sync.body = {scale};
  plan.micro = {sync};
  Operation step;
  step.kind = OpKind::step;
  step.rule = {
      "std.optimizers.adamw",
      {{"lr", Expression::apply("*", {Expression::constant(0.1), Expression::variable("updates")})}}};
  step.groups = {"decayed"};
  step.place = {"tiny.loop", 12, 5};
  Operation clip;
  clip.kind = OpKind::clip_norm;
  clip.limit = Expression::constant(std::numeric_limits<double>::infinity());
  plan.update = {clip, step};
  plan.stop = {{StopCondition::Kind::no_better, {}, "held_out.loss", 10, {}}};
  return plan;
}

}  // namespace

TEST_CASE("a plan survives its JSON form") {
  const Plan plan = example();
  const Plan back = from_json(json::parse(to_json(plan).dump()));
  CHECK(back == plan);
  CHECK(plan_hash(back) == plan_hash(plan));
  CHECK(std::isinf(back.update[0].limit.value));
}

TEST_CASE("the hash follows every value") {
  Plan plan = example();
  const std::string before = plan_hash(plan);
  plan.update[1].rule.hyper[0].value.operands[0].value = 0.2;
  CHECK(plan_hash(plan) != before);
}

TEST_CASE("foreign, old, edited and incomplete plans are refused with the reason") {
  const json good = to_json(example());
  const auto refusal = [](const json& document) -> std::string {
    try {
      from_json(document);
    } catch (const PlanError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal(json::parse(R"({"a":1})")).find("not a plan") != std::string::npos);
  CHECK(refusal(json::array()).find("not a plan") != std::string::npos);
  json other = good;
  other["version"] = 99;
  CHECK(refusal(other).find("version 99") != std::string::npos);
  json edited = good;
  edited["plan"]["seed"] = 5;
  CHECK(refusal(edited).find("hash") != std::string::npos);
  json incomplete = good;
  incomplete["plan"]["window"].erase("size");
  CHECK(refusal(incomplete).find("plan.window.size is missing") != std::string::npos);
  json unknown = good;
  unknown["plan"]["surprise"] = 1;
  CHECK(refusal(unknown).find("plan.surprise") != std::string::npos);
  json wrong = good;
  wrong["plan"]["dtype"] = "fp8";
  CHECK(refusal(wrong).find("fp8") != std::string::npos);
}

TEST_CASE("a plan whose spec has changed is stale") {
  const auto path = std::filesystem::temp_directory_path() / "loop_stale_test.loop";
  std::ofstream(path) << "loop a { }\n";
  Plan plan = example();
  plan.spec_files = {{path.string(), content_hash("loop a { }\n")}};
  CHECK_NOTHROW(refuse_if_stale(plan));
  std::ofstream(path) << "loop b { }\n";
  CHECK_THROWS_AS(refuse_if_stale(plan), PlanError);
  std::filesystem::remove(path);
  CHECK_NOTHROW(refuse_if_stale(plan));  // the spec is not there: the plan stands alone
}

TEST_CASE("operations read as they would be written") {
  const Plan plan = example();
  CHECK(to_text(plan.micro[0].body[0]) == "scale_loss(loss_scale / tokens.global)");
  CHECK(to_text(plan.update[1]) == "step adamw(lr: 0.1 * updates) on decayed");
  Operation clip;
  clip.kind = OpKind::clip_norm;
  clip.limit = Expression::constant(1);
  CHECK(to_text(clip) == "clip(norm: 1)");
  Factor half{0.5, {}};
  CHECK(to_text(half) == "0.5");
  Factor product{1,
                 {{Power::Symbol::ranks, -1, "", 1},
                  {Power::Symbol::micro_batches, -1, "", -1},
                  {Power::Symbol::loss_scale, -1, "", -2}}};
  CHECK(to_text(product) == "ranks / (micro_batches * loss_scale^2)");
}
