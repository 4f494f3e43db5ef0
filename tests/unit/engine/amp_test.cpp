// Windows in mixed precision: the loss scale through a window, overflows, evaluations in between.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "designed_run.h"
#include "loop/error.h"
#include "runtime/engine/loss_scale.h"
#include "runtime/engine/precision.h"

namespace loop::testing {
namespace {

constexpr double kTolerance = 1e-10;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Symbol = plan::Power::Symbol;

/// The canonical loop of fp16 around these update operations: unscale … update_scale, zero_grad.
void use_fp16(plan::Plan& plan, std::vector<Operation> update, double init_scale = 65536) {
  plan.amp.mode = plan::AmpMode::fp16;
  plan.amp.init_scale = init_scale;
  plan.micro = {
      operation(OpKind::sync_on,
                {operation(OpKind::autocast, {operation(OpKind::forward), loss(plan::LossMode::sum)}),
                 scale(OpKind::scale_loss, 1, {power(Symbol::loss_scale, 1)}), operation(OpKind::backward)})};
  plan.update = {operation(OpKind::unscale), operation(OpKind::normalize)};
  for (Operation& one : update) plan.update.push_back(std::move(one));
  plan.update.push_back(operation(OpKind::update_scale));
  plan.update.push_back(operation(OpKind::zero_grad));
}

plan::Plan fp16_rows(int64_t windows, std::vector<Operation> update, double init_scale = 65536) {
  plan::Plan plan = designed_plan();
  use_fp16(plan, std::move(update), init_scale);
  plan.stop = {reached(plan::Clock::attempts, static_cast<double>(windows))};
  return plan;
}

std::vector<double> scales(const TinyRun& run) {
  std::vector<double> result;
  for (const auto& record : run.recorder.all) result.push_back(*record.loss_scale);
  return result;
}

TEST_CASE(
    "B19: the clip sees the unscaled gradient: norm 3 at scale 65536 and limit 1 moves by 1, not by 1.5e-5") {
  auto run = designed_run(fp16_rows(1, {clip_norm(1), sgd(1)}), {{3, 0}, {3, 0}});
  run->run();
  CHECK(std::abs(theta(*run)[0] + 1) < kTolerance);
  CHECK(std::abs(*run->recorder.all[0].grad_norm - 3) < kTolerance);
  CHECK(run->recorder.all[0].clipped);
}

TEST_CASE("B74: the logged norm is that of the unscaled gradient: 3 at a scale of 65536, not 196608") {
  plan::Plan plain = designed_plan();
  plain.stop = {reached(plan::Clock::attempts, 1)};
  auto without = designed_run(plain, {{3, 0}, {3, 0}});
  without->run();
  CHECK(std::abs(*without->recorder.all[0].grad_norm - 3) < kTolerance);
  // Also where nothing clips, and the norm is measured for the log alone.
  for (const double init_scale : {1.0, 1024.0, 65536.0}) {
    CAPTURE(init_scale);
    auto run = designed_run(fp16_rows(1, {sgd(1)}, init_scale), {{3, 0}, {3, 0}});
    run->run();
    CHECK(*run->recorder.all[0].loss_scale == init_scale);
    CHECK(std::abs(*run->recorder.all[0].grad_norm - 3) < kTolerance);
  }
}

TEST_CASE("B20, B22: the gradient is divided by the scale once: the step is the one without a scale") {
  for (const double init_scale : {1.0, 1024.0, 3.0, 65536.0}) {
    CAPTURE(init_scale);
    auto run = designed_run(fp16_rows(1, {sgd(1)}, init_scale), {{3, 4}, {1, 2}});
    run->run();
    CHECK(std::abs(theta(*run)[0] + 2) < kTolerance);
    CHECK(std::abs(theta(*run)[1] + 3) < kTolerance);
  }
}

TEST_CASE(
    "B23: overflows move neither parameters nor schedule; six skipped of ten leave the schedule at four") {
  Rows rows(20, {1, 2});
  for (const size_t bad : {0, 2, 4, 9, 11, 13}) rows[bad] = {kInfinity, 0};
  const Expression rate =
      Expression::apply("+", {constant(0.01), Expression::apply("*", {constant(0.01), clock("updates")})});
  plan::Plan plan = fp16_rows(10, {sgd(rate)});
  plan.amp.growth_interval = 2;
  auto run = designed_run(plan, rows);
  run->run();
  const auto& all = run->recorder.all;
  REQUIRE(all.size() == 10);
  CHECK(all.back().optimizer_step == 4);
  CHECK(all.back().attempted == 10);
  // applied: windows 4, 8, 9, 10 (counted from 1); a count of good windows that a bad one interrupts begins
  // again
  CHECK(scales(*run) == std::vector<double>{65536, 32768, 16384, 8192, 8192, 4096, 2048, 1024, 1024, 2048});
  CHECK(std::abs(all.back().learning_rates.at(0).second - 0.04) < kTolerance);
  for (size_t w = 0; w < all.size(); ++w)
    if (!all[w].applied) CHECK(torch::equal(run->parameters[w], run->parameters[w + 1]));
  CHECK(all[0].skipped ==
        "the gradient is not finite, first in theta, micro-batch 1 of 2, at a loss scale of 65536");
}

TEST_CASE("the micro-batch that overflowed is looked for at the scale at which it did") {
  // In fp64 the row's gradient is finite at a scale of 2, and leaves fp64's range at 2^20.
  plan::Plan plan = fp16_rows(2, {sgd(1)}, std::exp2(20));
  plan.amp.backoff_factor = std::exp2(-19);
  auto run = designed_run(plan, {{1, 0}, {1e307, 0}, {1, 0}, {1, 0}});
  run->run();
  REQUIRE(run->recorder.all.size() == 2);
  CHECK(run->recorder.all[0].skipped.find("micro-batch 2 of 2, at a loss scale of 1048576") !=
        std::string::npos);
  CHECK(*run->recorder.all[1].loss_scale == 2);
  CHECK(run->recorder.all[1].applied);
}

TEST_CASE("B28: a run whose scale is at its floor ends with what it is, exit code 4") {
  plan::Plan plan = fp16_rows(100, {sgd(1)}, 8);
  plan.nonfinite.limit = 6;
  auto run = designed_run(plan, Rows(200, {kInfinity, 0}));
  try {
    run->run();
    FAIL("it went on");
  } catch (const Error& error) {
    CHECK(error.exit_code() == 4);
    const std::string text = error.what();
    CHECK(text.find("6 updates in a row were skipped (after 0 applied updates)") != std::string::npos);
    CHECK(text.find("the loss scale is at its floor, min_scale = 1") != std::string::npos);
    CHECK(error.repair().find("amp = bf16") != std::string::npos);
  }
  CHECK(scales(*run) == std::vector<double>{8, 4, 2, 1, 1, 1});
}

TEST_CASE("skips count in a row: a limit of 3 lets any number of single overflows pass") {
  Rows rows(40, {1, 2});
  for (size_t w = 0; w < 20; w += 2) rows[2 * w] = {kInfinity, 0};
  plan::Plan plan = fp16_rows(20, {sgd(0.01)}, std::exp2(40));
  plan.nonfinite.limit = 3;
  auto run = designed_run(plan, rows);
  run->run();
  CHECK(run->recorder.all.back().optimizer_step == 10);
}

TEST_CASE("action = stop says that first overflows are ordinary under fp16") {
  plan::Plan plan = fp16_rows(2, {sgd(1)});
  plan.nonfinite.action = plan::NonfiniteAction::stop;
  auto run = designed_run(plan, Rows(4, {kInfinity, 0}));
  try {
    run->run();
    FAIL("it went on");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("the loss scale is now 32768") != std::string::npos);
    CHECK(error.repair().find("as fp16 has to until its loss scale fits") != std::string::npos);
  }
}

TEST_CASE("an empty window leaves the scaler alone") {
  plan::Plan plan = tiny_plan();
  use_fp16(plan, {sgd(0.1)});
  plan.amp.growth_interval = 2;
  plan.stop = {reached(plan::Clock::attempts, 5)};
  const auto run = std::make_unique<TinyRun>(
      plan, sequences({2, 3, 1, 2, 0, 0, 0, 0, 2, 2, 3, 1, 0, 0, 0, 0, 2, 1, 1, 4}));
  run->run();
  REQUIRE(run->recorder.all.size() == 5);
  // applied, empty, applied (then it grows), empty, applied
  CHECK(scales(*run) == std::vector<double>{65536, 65536, 65536, 131072, 131072});
  CHECK(run->trainer->windows().loss_scaler()->state().applied_in_a_row == 1);
}

TEST_CASE("update_scale follows unscale where both judged, as `finite` does") {
  // unscale finds the gradient finite; a factor that nobody should write makes it overflow before the step.
  plan::Plan plan =
      fp16_rows(1, {scale(OpKind::scale_grad, 1e308), scale(OpKind::scale_grad, 1e308), sgd(1)});
  auto run = designed_run(plan, {{1, 2}, {1, 2}});
  run->run();
  CHECK_FALSE(run->recorder.all[0].applied);
  const amp::ScalerState& state = run->trainer->windows().loss_scaler()->state();
  CHECK(state.scale == 65536);
  CHECK(state.applied_in_a_row == 1);
}

TEST_CASE("D: a power of two near the expected N where `loss` is a sum, else 1") {
  using plan::CountUnit;
  data::WindowPlan window;
  window.micro_batches = 4;
  window.samples = 24;
  window.tokens = 3000;
  window.positions = 4100;
  const auto divisor = [&](CountUnit unit, plan::LossMode mode = plan::LossMode::sum, double constant = 1,
                           plan::AmpMode amp = plan::AmpMode::fp16) {
    plan::Plan plan = tiny_plan();
    plan.amp.mode = amp;
    plan.micro = canonical_micro(mode);
    plan.count_classes = {{unit, constant, std::nullopt, std::nullopt}};
    const engine::Objective objective(plan.terms, plan.count_classes, 3);
    return engine::loss_scale_divisor(plan, window, objective);
  };
  CHECK(divisor(CountUnit::tokens) == 4096);  // 3000 is nearer to 4096 than to 2048, as a ratio
  CHECK(divisor(CountUnit::samples) == 32);   // 24
  CHECK(divisor(CountUnit::positions) == 4096);
  CHECK(divisor(CountUnit::class_weight) == 4096);
  CHECK(divisor(CountUnit::constant, plan::LossMode::sum, 64) == 64);
  CHECK(divisor(CountUnit::constant, plan::LossMode::sum, 0.3) == 0.25);
  CHECK(divisor(CountUnit::window) == 1);
  CHECK(divisor(CountUnit::micro_batch) == 16);  // 4 on each of 3 ranks
  CHECK(divisor(CountUnit::tokens, plan::LossMode::mean) == 1);
  CHECK(divisor(CountUnit::tokens, plan::LossMode::normalized) == 1);
  CHECK(divisor(CountUnit::tokens, plan::LossMode::sum, 1, plan::AmpMode::bf16) == 1);
  window.tokens = 0;
  CHECK(divisor(CountUnit::tokens) == 1);
}

/// One window of 4 micro-batches with 64 sequences of 64 tokens each, in fp32 with autocast.
plan::Plan large_window() {
  plan::Plan plan = tiny_plan();
  plan.dtype = plan::Dtype::fp32;
  plan.data.micro_batch_samples = 64;
  plan.window.size.value = 4;
  plan.stop = {reached(plan::Clock::attempts, 1)};
  return plan;
}

TEST_CASE("a sum over 16384 tokens at scale 65536 stays in fp16's range through D; a constant does not") {
  const auto data = sequences(std::vector<int64_t>(256, 64), 5, 0);
  plan::Plan plain = large_window();
  TinyRun full(plain, data);
  full.run();
  const torch::Tensor right = full.gradients.at(0) / 16384;

  plan::Plan scaled = large_window();
  use_fp16(scaled, {sgd(0.5)});
  TinyRun run(scaled, data);
  run.run();
  const auto& record = run.recorder.all.at(0);
  CHECK(record.applied);
  CHECK(*record.loss_scale == 65536);
  CHECK(record.loss_scale_divisor == 16384);
  CHECK(distance(run.gradients.at(0) / 65536, right) < 2e-3);  // S·N = 65536 as D is N here
  CHECK(distance(run.now(), full.now()) < 1e-3);

  plan::Plan constant_scale = large_window();
  constant_scale.amp.mode = plan::AmpMode::fp16;
  constant_scale.micro = {operation(
      OpKind::sync_on, {operation(OpKind::autocast, {operation(OpKind::forward), loss(plan::LossMode::sum)}),
                        scale(OpKind::scale_loss, 65536), operation(OpKind::backward)})};
  constant_scale.update = {scale(OpKind::scale_grad, 1.0 / 65536), operation(OpKind::normalize), sgd(0.5),
                           operation(OpKind::zero_grad)};
  TinyRun literal(constant_scale, data);
  literal.run();
  CHECK_FALSE(literal.recorder.all.at(0).applied);
}

TEST_CASE("B92: a gradient of 1e-8 is lost in fp16 without a scale, and found with one") {
  const auto data = sequences({6, 6, 6, 6}, 3, 0);
  const auto gradient_share = [&](double init_scale) {
    plan::Plan plan = tiny_plan();
    plan.dtype = plan::Dtype::fp32;
    plan.terms[0].weight = 1e-8;
    plan.stop = {reached(plan::Clock::attempts, 1)};
    use_fp16(plan, {sgd(1)}, init_scale);
    plan.amp.min_scale = 1e-3;
    TinyRun run(plan, data);
    plan::Plan full = plan;
    full.amp.mode = plan::AmpMode::off;
    TinyRun right(full, data);
    run.run();
    right.run();
    return distance(run.gradients.at(0) / (init_scale / run.recorder.all.at(0).loss_scale_divisor),
                    right.gradients.at(0));
  };
  CHECK(gradient_share(1) > 0.5);
  CHECK(gradient_share(65536 * 1024) < 1e-2);
}

TEST_CASE("micro-batches and one big batch agree under autocast, to its digits") {
  const auto data = sequences({6, 1, 4, 3, 8, 2, 5, 7}, 11);
  for (const plan::AmpMode mode : {plan::AmpMode::bf16, plan::AmpMode::fp16}) {
    std::vector<torch::Tensor> results;
    for (const int64_t micro_batches : {1, 2, 4, 8}) {
      plan::Plan plan = tiny_plan();
      plan.dtype = plan::Dtype::fp32;
      use_fp16(plan, {sgd(0.5)});
      plan.amp.mode = mode;
      plan.data.micro_batch_samples = 8 / micro_batches;
      plan.window.size.value = micro_batches;
      TinyRun run(plan, data);
      run.run();
      CHECK(run.recorder.all.back().loss_scale.has_value() == (mode == plan::AmpMode::fp16));
      results.push_back(run.now());
    }
    for (const torch::Tensor& one : results)
      CHECK(distance(one, results[0]) < (mode == plan::AmpMode::fp16 ? 2e-3 : 1e-2));
  }
}

plan::Plan evaluated_plan(plan::AmpMode mode) {
  plan::Plan plan = tiny_plan();
  plan.dtype = plan::Dtype::fp32;
  use_fp16(plan, {sgd(0.5)});
  plan.amp.mode = mode;
  plan.data.sources.push_back({"valid", {"memory", plan::json::object()}});
  return plan;
}

plan::Evaluation every_update(const std::string& with) {
  plan::Evaluation evaluation;
  evaluation.name = "held_out_" + with;
  evaluation.source = "valid";
  evaluation.every = {{plan::Clock::updates, 1}};
  evaluation.metrics = {"loss", "accuracy"};
  evaluation.at_start = true;
  evaluation.with = with;
  return evaluation;
}

TEST_CASE("evaluations under autocast leave training as it was, bit for bit, and see the parameters of now") {
  const auto train = sequences({2, 6, 1, 3, 4, 4, 2, 5}, 3), valid = sequences({4, 2, 5, 1}, 9);
  for (const plan::AmpMode mode : {plan::AmpMode::bf16, plan::AmpMode::fp16}) {
    TinyRun alone(evaluated_plan(mode), train);
    alone.run();
    plan::Plan watched = evaluated_plan(mode);
    watched.averages = {{"still", constant(1), false}, {"same", constant(0), false}};
    for (const char* with : {"still", "model", "same"}) watched.evaluations.push_back(every_update(with));
    TinyRun run(watched, train, {{"valid", valid}});
    run.run();
    CHECK(torch::equal(alone.now(), run.now()));
    REQUIRE(run.recorder.evaluations.size() == 15);
    const auto metrics = [&](size_t i) { return run.recorder.evaluations.at(i).metrics; };
    for (size_t update = 0; update < 5; ++update) {
      CHECK(metrics(3 * update) == metrics(0));  // an average that stands still: casts of the start
      CHECK(metrics(3 * update + 2) == metrics(3 * update + 1));  // one that is the model
    }
    CHECK(metrics(13) != metrics(1));
    // As without autocast to its digits, and not by being computed without it.
    plan::Plan full = watched;
    full.amp.mode = plan::AmpMode::off;
    full.dtype = plan::Dtype::fp32;
    TinyRun exact(full, train, {{"valid", valid}});
    exact.run();
    const double lower = metrics(0)[0].second, right = exact.recorder.evaluations.at(0).metrics[0].second;
    CHECK(std::abs(lower - right) < 1e-2);
    CHECK(lower != right);
  }
}

TEST_CASE("evaluation follows training's forward: without `autocast` around it, full precision") {
  plan::Plan plan = evaluated_plan(plan::AmpMode::bf16);
  CHECK(engine::forward_precision(plan) == plan::AmpMode::bf16);
  plan.micro = {operation(OpKind::forward), loss(plan::LossMode::sum), operation(OpKind::backward)};
  CHECK(engine::forward_precision(plan) == plan::AmpMode::off);
  plan.micro = {operation(OpKind::forward), operation(OpKind::autocast, {loss(plan::LossMode::sum)}),
                operation(OpKind::backward)};
  CHECK(engine::forward_precision(plan) == plan::AmpMode::off);
}

TEST_CASE("an overflow's second look leaves the windows after it as they are") {
  // The first window overflows at 2^30 in its last micro-batch alone; the second is then what it is without
  // the first, at the lower scale.
  const auto half = sequences({2, 6, 1, 3}, 3);
  auto data = half;
  data.insert(data.end(), half.begin(), half.end());
  plan::Plan plan = evaluated_plan(plan::AmpMode::fp16);
  plan.data.sources.pop_back();
  plan.amp.init_scale = std::exp2(30);
  plan.amp.backoff_factor = std::exp2(-20);
  plan.stop = {reached(plan::Clock::attempts, 2)};
  TinyRun run(plan, data);
  run.run();
  REQUIRE(run.recorder.all.size() == 2);
  CHECK_FALSE(run.recorder.all[0].applied);
  CHECK(run.recorder.all[1].applied);
  plan.amp.init_scale = 1024;
  plan.stop = {reached(plan::Clock::attempts, 1)};
  TinyRun second(plan, data);
  second.run();
  CHECK(torch::equal(run.now(), second.now()));
}

TEST_CASE("losses are summed in fp32 under autocast: the report of a large window is exact to its digits") {
  // One term per token with the same value: 16384 of them in fp16 or bf16 would not add up.
  const auto data = sequences(std::vector<int64_t>(256, 64), 5, 0);
  for (const plan::AmpMode mode : {plan::AmpMode::bf16, plan::AmpMode::fp16}) {
    plan::Plan plan = large_window();
    use_fp16(plan, {sgd(0)});
    plan.amp.mode = mode;
    plan.terms = {term("main", "cross_entropy"), term("z", "z_loss", 1e-4)};
    TinyRun run(plan, data);
    run.run();
    plan.amp.mode = plan::AmpMode::off;
    TinyRun exact(plan, data);
    exact.run();
    for (size_t t = 0; t < 2; ++t) {
      const double found = run.recorder.all[0].losses[t].second,
                   right = exact.recorder.all[0].losses[t].second;
      CHECK(std::abs(found - right) < 5e-3 * right);
    }
  }
}

}  // namespace
}  // namespace loop::testing
