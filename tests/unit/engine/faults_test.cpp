// The numbers of real reports: what the loops in them gave, and what is right. Each case names the report's
// number in the project's list of faults.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "designed_run.h"
#include "loop/error.h"

namespace loop::testing {
namespace {

constexpr double kTolerance = 1e-10;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool near(double a, double b) {
  return std::abs(a - b) < kTolerance;
}

void check_theta(const TinyRun& run, const std::vector<double>& expected) {
  const std::vector<double> got = theta(run);
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(got[i] - expected[i]) < 1e-4);
  }
}

double logged_loss(plan::Plan plan, const std::vector<std::vector<double>>& losses) {
  auto run = run_with_losses(std::move(plan), losses);
  run->run();
  return *run->recorder.updates.at(0).loss;
}

plan::Plan one_window(int64_t micro_batches, int64_t samples_each = 1) {
  plan::Plan plan = tiny_plan();
  plan.data.micro_batch_samples = samples_each;
  plan.window.size.value = micro_batches;
  plan.stop = {reached(plan::Clock::updates, 1)};
  return plan;
}

TEST_CASE("B01: three micro-batches of 3, 5 and 2 tokens with means 2, 1 and 4") {
  const std::vector<std::vector<double>> losses = {{2, 2, 2}, {1, 1, 1, 1, 1}, {4, 4}};
  CHECK(near(logged_loss(one_window(3), losses), 1.9));  // the mean of means would be 2.3333
  // Executed literally, the mean of means is what a loop that asks for it gets; here as a gradient, that of
  // θ, which is 1 - e^-v for a position of loss v.
  plan::Plan literal = one_window(3);
  literal.micro = {operation(OpKind::forward), loss(plan::LossMode::mean),
                   scale(OpKind::scale_loss, 1, {power(plan::Power::Symbol::micro_batches, -1)}),
                   operation(OpKind::backward)};
  literal.update = {sgd(1), operation(OpKind::zero_grad)};
  const auto share = [](double v) { return 1 - std::exp(-v); };
  auto wrong = run_with_losses(literal, losses);
  wrong->run();
  CHECK(near(theta(*wrong)[0], -(share(2) + share(1) + share(4)) / 3));
  plan::Plan exact = one_window(3);
  exact.update = {operation(OpKind::normalize), sgd(1), operation(OpKind::zero_grad)};
  auto run = run_with_losses(exact, losses);
  run->run();
  CHECK(near(theta(*run)[0], -(3 * share(2) + 5 * share(1) + 2 * share(4)) / 10));
}

TEST_CASE("B02, B71: neither loss nor gradient norm depends on K at one global batch") {
  for (const int64_t k : {1, 2, 4, 8, 16, 32}) {
    CAPTURE(k);
    plan::Plan plan = designed_plan();
    plan.data.micro_batch_samples = 32 / k;
    plan.window.size.value = k;
    auto run = designed_run(plan, Rows(32, {3, 4}));
    run->run();
    CHECK(near(*run->recorder.updates[0].loss, 0.25));
    CHECK(near(*run->recorder.updates[0].grad_norm, 5));
    check_theta(*run, {-3, -4});
  }
}

TEST_CASE("B03: a second division by K gives a quarter of the step") {
  plan::Plan plan = designed_plan();
  plan.window.size.value = 4;
  plan.update.insert(plan.update.begin() + 1,
                     scale(OpKind::scale_grad, 1, {power(plan::Power::Symbol::micro_batches, -1)}));
  auto wrong = designed_run(plan, Rows(4, {8}));
  wrong->run();
  check_theta(*wrong, {-2});
  plan.update.erase(plan.update.begin() + 1);
  auto right = designed_run(plan, Rows(4, {8}));
  right->run();
  check_theta(*right, {-8});
}

TEST_CASE("B08: a weight of n_micro / N restores one token, one weight") {
  // loss(mean) · tokens.micro / tokens.global is the sum over N, for any split.
  plan::Plan plan = one_window(4);
  plan.micro = {
      operation(OpKind::forward), loss(plan::LossMode::mean),
      scale(OpKind::scale_loss, 1,
            {power(plan::Power::Symbol::count_micro, 1), power(plan::Power::Symbol::count_global, -1)}),
      operation(OpKind::backward)};
  plan.update = {sgd(0.5), operation(OpKind::zero_grad)};
  const auto data = sequences({2, 6, 8, 0});
  TinyRun run(plan, data);
  run.run();
  const Reference at(run.parameters[0]);
  CHECK(distance(run.now(), at.flat() - 0.5 * at.gradient(at.mean_loss(data))) < kTolerance);
}

TEST_CASE("B09: the declared unit decides between 1.5 and 2") {
  const std::vector<std::vector<double>> losses = {{3, 3}, {1, 1, 1, 1, 1, 1}};
  CHECK(near(logged_loss(one_window(1, 2), losses), 1.5));
  plan::Plan per_micro = one_window(2);
  per_micro.count_classes[0].unit = plan::CountUnit::micro_batch;
  CHECK(
      near(logged_loss(per_micro, losses), 2.0));  // one sample in each: the mean over samples of their means
}

TEST_CASE("B10: a window carried over an epoch is divided by what it holds") {
  plan::Plan plan = one_window(4);
  plan.window.tail = plan::Tail::carry;
  plan.stop = {reached(plan::Clock::updates, 3)};
  TinyRun run(plan, sequences({5, 5, 5, 5, 1, 1}));
  run.run();
  CHECK(run.recorder.all[0].global_effective_tokens == 20);
  CHECK(run.recorder.all[1].global_effective_tokens == 12);  // 1 + 1 + 5 + 5
  CHECK(run.recorder.all[2].global_effective_tokens == 12);  // 5 + 5 + 1 + 1
}

TEST_CASE("B11: one graph is alive at a time") {
  most_live_graphs();
  plan::Plan plan = designed_plan();
  plan.window.size.value = 8;
  designed_run(plan, Rows(8, {1}))->run();
  CHECK(most_live_graphs() == 1);
}

TEST_CASE("B12: label smoothing does not change the gradient's size with K") {
  std::vector<double> norms;
  for (const int64_t k : {1, 8}) {
    plan::Plan plan = one_window(k, 8 / k);
    plan.terms = {term("main", "cross_entropy", 1, 0, {{"label_smoothing", 0.1}})};
    TinyRun run(plan, sequences({2, 6, 1, 3, 5, 4, 2, 7}));
    run.run();
    norms.push_back(*run.recorder.all[0].grad_norm);
  }
  CHECK(std::abs(norms[1] / norms[0] - 1) < kTolerance);  // the report saw a ratio of about 9
}

TEST_CASE("B13: smoothing with uniform logits is ln V, whatever is ignored") {
  plan::Plan plan = one_window(1, 2);
  plan.terms = {term("main", "cross_entropy", 1, 0, {{"label_smoothing", 0.2}})};
  TinyRun run(plan, sequences({2, 0}, 1, 2));
  const torch::NoGradGuard no_grad;
  for (auto& group : run.parts.parameters->groups()) group.parameters.zero_();
  {
    const torch::AutoGradMode enabled(true);
    run.run();
  }
  CHECK(near(*run.recorder.updates[0].loss, std::log(double(kVocabulary))));
}

TEST_CASE("B15: a micro-batch without targets contributes nothing") {
  const auto both = sequences({0, 5});
  for (const plan::LossMode mode : {plan::LossMode::sum, plan::LossMode::normalized}) {
    plan::Plan plan = one_window(2);
    plan.micro = canonical_micro(mode);
    if (mode == plan::LossMode::normalized) plan.update = {sgd(0.5), operation(OpKind::zero_grad)};
    TinyRun run(plan, both);
    run.run();
    const Reference at(run.parameters[0]);
    CHECK(distance(run.now(), at.flat() - 0.5 * at.gradient(at.mean_loss({both[1]}))) < kTolerance);
    CHECK(run.recorder.all[0].applied);
  }
}

TEST_CASE("B15: a window without targets is skipped, or an error where that is asked for") {
  plan::Plan plan = one_window(2);
  plan.stop = {reached(plan::Clock::epochs, 1)};
  plan.averages = {{"slow", constant(0.5), false}};
  TinyRun run(plan, sequences({3, 2, 0, 0, 4, 1}));
  run.run();
  REQUIRE(run.recorder.all.size() == 3);
  const auto& empty = run.recorder.all[1];
  CHECK_FALSE(empty.applied);
  CHECK(empty.skipped == "no counted unit in the window");
  CHECK_FALSE(empty.loss);
  CHECK(empty.optimizer_step == 1);
  CHECK(empty.attempted == 2);
  CHECK(run.trainer->clocks().updates == 2);
  CHECK(run.trainer->clocks().samples == 4);
  CHECK(run.trainer->clocks().samples_seen == 6);
  plan.window.empty = plan::EmptyPolicy::error;
  TinyRun strict(plan, sequences({3, 2, 0, 0}));
  CHECK_THROWS_AS(strict.run(), Error);
}

plan::Plan skipping_plan() {
  plan::Plan plan = designed_plan();
  plan.window.size.value = 2;
  const Expression rate =
      Expression::apply("*", {constant(0.1), Expression::apply("+", {clock("updates"), constant(1)})});
  plan.update = {
      operation(OpKind::unscale),      operation(OpKind::normalize), clip_norm(100), sgd(rate, 0.9),
      operation(OpKind::update_scale), operation(OpKind::zero_grad)};
  plan.averages = {{"slow", constant(0.5), false}};
  return plan;
}

TEST_CASE("B23, R-SKIP: a skipped update moves no schedule, moment, average or parameter") {
  // The same good windows with and without bad ones in between.
  const Rows good = {{1}, {2}, {0.5}, {1.5}, {3}, {1}};
  Rows mixed = {{kInfinity}, {1}};
  for (size_t i = 0; i < good.size(); i += 2) {
    mixed.push_back(good[i]);
    mixed.push_back(good[i + 1]);
    mixed.push_back({1});
    mixed.push_back({std::nan("")});
  }
  plan::Plan plan = skipping_plan();
  plan.stop = {reached(plan::Clock::updates, 3)};
  auto clean = designed_run(plan, good);
  clean->run();
  auto skipping = designed_run(plan, mixed);
  skipping->run();
  CHECK(torch::equal(clean->now(), skipping->now()));
  const auto& groups = skipping->parts.parameters->groups();
  CHECK(torch::equal(groups[0].states[0], clean->parts.parameters->groups()[0].states[0]));
  CHECK(groups[0].slots[0].step == 3);
  std::vector<double> rates;
  for (const auto& record : skipping->recorder.all) {
    if (record.applied) rates.push_back(record.learning_rates[0].second);
  }
  CHECK(rates == std::vector<double>{0.1, 0.2, 0.1 * 3});
  {
    const engine::Averages::Swap one(clean->trainer->averages(), "slow");
    const engine::Averages::Swap two(skipping->trainer->averages(), "slow");
    CHECK(torch::equal(clean->now(), skipping->now()));
  }
  const Clocks& clocks = skipping->trainer->clocks();
  CHECK(clocks.updates == 3);
  CHECK(clocks.attempts == 6);
  CHECK(clocks.samples == 6);
  CHECK(clocks.samples_seen == 12);
  const auto& first = skipping->recorder.all[0];
  CHECK(first.skipped == "the gradient is not finite, first in theta, micro-batch 1 of 2");
  CHECK(skipping->recorder.all[2].skipped ==
        "the gradient is not finite, first in theta, micro-batch 2 of 2");
  CHECK(first.line);
}

TEST_CASE("a gradient that goes bad while every loss is finite is traced to its micro-batch") {
  plan::Plan plan = designed_plan();
  plan.window.size.value = 3;
  plan.stop = {reached(plan::Clock::attempts, 1)};
  auto run = designed_run(plan, {{1, 1}, {1, kRoot}, {1, 1}});
  run->run();
  CHECK(run->recorder.all[0].skipped == "the gradient is not finite, first in theta, micro-batch 2 of 3");
  CHECK(near(*run->recorder.all[0].loss, 0.25));
  check_theta(*run, {0, 0});
  CHECK(run->parts.parameters->flat_gradient().abs().sum().item<double>() == 0);

  plan.nonfinite.action = plan::NonfiniteAction::stop;
  auto stopping = designed_run(plan, {{1, 1}, {1, kRoot}, {1, 1}});
  try {
    stopping->run();
    FAIL("went on");
  } catch (const Error& error) {
    CHECK(error.exit_code() == 4);
  }
  CHECK(stopping->recorder.updates.size() == 1);  // reported before it stopped
}

TEST_CASE("running statistics do not keep what a skipped window did to them") {
  plan::Plan plan = designed_plan();
  plan.model.args["momentum"] = 0.5;
  plan.window.size.value = 2;
  plan.stop = {reached(plan::Clock::updates, 2)};
  auto run = designed_run(plan, {{1}, {2}, {kInfinity}, {3}, {4}, {5}});
  run->run();
  // 0 → 0.5 → 1.25, then the bad window is undone, then → 2.625 → 3.8125
  CHECK(near(run->parts.model->named_buffers()["mean"].item<double>(), 3.8125));
}

TEST_CASE("B28: a run whose updates are all skipped ends with the reason") {
  plan::Plan plan = designed_plan();
  plan.nonfinite.limit = 5;
  plan.stop = {reached(plan::Clock::updates, 1000)};
  auto run = designed_run(plan, Rows(4, {kInfinity}));
  try {
    run->run();
    FAIL("went on");
  } catch (const Error& error) {
    CHECK(error.exit_code() == 4);
    CHECK(std::string(error.what()).starts_with("5 updates in a row were skipped (after 0 applied updates)"));
  }
  CHECK(run->trainer->clocks().attempts == 5);
  CHECK(run->trainer->clocks().updates == 0);
  // An applied update in between starts the count anew.
  plan.nonfinite.limit = 2;
  plan.stop = {reached(plan::Clock::attempts, 6)};
  plan.window.size.value = 1;
  auto alternating = designed_run(plan, {{kInfinity}, {1}});
  alternating->run();
  CHECK(alternating->trainer->clocks().updates == 3);
}

TEST_CASE("B29: clipping is once, after the last backward") {
  plan::Plan plan = designed_plan();
  plan.count_classes[0].unit = plan::CountUnit::window;
  plan.update = {operation(OpKind::normalize), clip_norm(1), sgd(1), operation(OpKind::zero_grad)};
  auto right = designed_run(plan, {{2, 0}, {0, 2}});
  right->run();
  check_theta(*right, {-0.7071, -0.7071});
  plan.micro.push_back(clip_norm(1));
  auto wrong = designed_run(plan, {{2, 0}, {0, 2}});
  wrong->run();
  check_theta(*wrong, {-0.4472, -0.8944});
}

TEST_CASE("B32: a norm that is not finite is not divided by") {
  plan::Plan plan = designed_plan();
  plan.update = {operation(OpKind::normalize), clip_norm(1), sgd(1), operation(OpKind::zero_grad)};
  plan.stop = {reached(plan::Clock::attempts, 1)};
  auto run = designed_run(plan, {{1, kInfinity}, {1, 1}});
  run->run();
  check_theta(*run, {0, 0});
  CHECK_FALSE(run->recorder.all[0].applied);
}

TEST_CASE("B33, B34: where zeros are written decides what a step is given") {
  plan::Plan plan = designed_plan();
  plan.window.size.value = 4;
  auto run = designed_run(plan, {{1}, {2}, {3}, {6}});
  run->run();
  check_theta(*run, {-3});  // (1 + 2 + 3 + 6) / 4
  // Zeros before every backward: only the last micro-batch is left.
  plan::Plan each = plan;
  each.micro.insert(each.micro.begin(), operation(OpKind::zero_grad));
  auto last = designed_run(each, {{1}, {2}, {3}, {6}});
  last->run();
  check_theta(*last, {-1.5});
  // Never: with a gradient of g per window the n-th update uses n·g. The rows have no effect on each other's
  // gradient as long as the step is tiny.
  plan.update = {operation(OpKind::normalize), sgd(1e-9)};
  plan.window.size.value = 1;
  plan.stop = {reached(plan::Clock::updates, 4)};
  auto never = designed_run(plan, {{1}});
  never->run();
  for (size_t n = 0; n < 4; ++n) CHECK(std::abs(never->gradients[n].item<double>() - double(n + 1)) < 1e-6);
}

TEST_CASE("B52, B57: a tail is divided by what ran in it") {
  plan::Plan plan = designed_plan();
  plan.window.size.value = 4;
  plan.stop = {reached(plan::Clock::epochs, 1)};
  Rows ten(8, {0});
  ten.insert(ten.end(), 2, {6});
  auto run = designed_run(plan, ten);  // 10 micro-batches, K = 4: a tail of 2
  run->run();
  REQUIRE(run->recorder.all.size() == 3);
  CHECK(run->recorder.all[2].tail);
  check_theta(*run, {-6});  // not half of it
  Rows seven(4, {0});
  seven.insert(seven.end(), 3, {6});
  auto three = designed_run(plan, seven);
  three->run();
  CHECK(three->recorder.all.size() == 2);
  CHECK(three->trainer->planned_updates() == 2);
  check_theta(*three, {-6});
}

struct Shape {
  int64_t samples, micro, k, epochs;
  plan::Tail tail;
  int64_t updates;
};

TEST_CASE("B53, B54, B56, B57, B58: the planned number of updates is the number that is applied") {
  using plan::Tail;
  const std::vector<Shape> shapes = {
      {11, 1, 4, 1, Tail::flush, 3},    {11, 1, 4, 1, Tail::drop, 2},     {3, 1, 4, 1, Tail::flush, 1},
      {148, 2, 16, 2, Tail::carry, 9},  {148, 2, 16, 2, Tail::flush, 10}, {148, 2, 16, 2, Tail::drop, 8},
      {50, 10, 2, 10, Tail::flush, 30}, {9, 2, 2, 3, Tail::flush, 9},     {9, 2, 2, 3, Tail::carry, 7},
      {260, 16, 2, 1, Tail::flush, 9},  {7, 1, 4, 1, Tail::flush, 2},     {3, 1, 8, 8, Tail::carry, 3},
      {3, 1, 8, 8, Tail::flush, 8},     {100, 1, 4, 10, Tail::flush, 250}};
  for (const Shape& shape : shapes) {
    CAPTURE(shape.samples);
    CAPTURE(shape.k);
    plan::Plan plan = designed_plan();
    plan.data.micro_batch_samples = shape.micro;
    plan.window.size.value = shape.k;
    plan.window.tail = shape.tail;
    plan.stop = {reached(plan::Clock::epochs, double(shape.epochs))};
    plan.update[1] = sgd(1e-6);
    auto run = designed_run(plan, Rows(static_cast<size_t>(shape.samples), {1}));
    run->run();
    CHECK(run->trainer->planned_updates() == shape.updates);
    CHECK(run->trainer->clocks().updates == shape.updates);
    if (shape.tail == Tail::carry) {
      for (const auto& record : run->recorder.all) CHECK(record.micro_batches == shape.k);
    }
    if (shape.tail == Tail::flush) {
      CHECK(run->trainer->clocks().samples_seen == shape.samples * shape.epochs);
      CHECK(run->trainer->clocks().epochs == double(shape.epochs));
    }
  }
}

TEST_CASE("B53: dropping everything is an error before the start; dropped samples are counted") {
  plan::Plan plan = designed_plan();
  plan.window.size.value = 4;
  plan.window.tail = plan::Tail::drop;
  CHECK_THROWS_AS(designed_run(plan, Rows(3, {1})), Error);
  plan.stop = {reached(plan::Clock::epochs, 2)};
  auto run = designed_run(plan, Rows(11, {1}));
  run->run();
  CHECK(run->trainer->lost_samples() == 6);
  CHECK(run->recorder.all[1].lost_samples == 3);
}

TEST_CASE("B54, B58: what carry leaves unfinished at the end is not applied, and said so") {
  plan::Plan plan = designed_plan();
  plan.window.size.value = 4;
  plan.window.tail = plan::Tail::carry;
  plan.stop = {reached(plan::Clock::epochs, 2)};
  auto run = designed_run(plan, Rows(5, {1}));
  const engine::Ending ending = run->run();
  CHECK(run->trainer->clocks().updates == 2);
  CHECK(ending.discarded_micro_batches == 2);
  CHECK(ending.reason == "2 epochs");
}

TEST_CASE("B67: 1000 micro-batches in windows of 4 are 250 ticks of the schedule") {
  plan::Plan plan = designed_plan();
  plan.window.size.value = 4;
  plan.stop = {reached(plan::Clock::epochs, 10)};
  // warm-up over 100 updates
  plan.update[1] = sgd(Expression::apply(
      "min",
      {Expression::apply("/", {Expression::apply("+", {clock("updates"), constant(1)}), constant(100)}),
       constant(1)}));
  auto run = designed_run(plan, Rows(100, {1e-3}));
  run->run();
  REQUIRE(run->recorder.all.size() == 250);
  CHECK(near(run->recorder.all[0].learning_rates[0].second, 0.01));
  CHECK(near(run->recorder.all[98].learning_rates[0].second, 0.99));
  CHECK(near(run->recorder.all[99].learning_rates[0].second, 1));
  CHECK(run->recorder.all[249].micro_step == 1000);
}

TEST_CASE("B70: 50 updates use the clock's values 0 to 49, and the smallest rate is the last") {
  plan::Plan plan = designed_plan();
  plan.stop = {reached(plan::Clock::updates, 50)};
  // a cosine from 1 at 0 to 0 at horizon - 1
  const Expression share =
      Expression::apply("/", {clock("updates"), Expression::apply("-", {clock("horizon"), constant(1)})});
  const Expression turn = Expression::apply("cos", {Expression::apply("*", {constant(M_PI), share})});
  plan.update[1] = sgd(Expression::apply("*", {constant(0.5), Expression::apply("+", {constant(1), turn})}));
  auto run = designed_run(plan, Rows(4, {1e-3}));
  run->run();
  std::vector<double> rates;
  for (const auto& record : run->recorder.all) rates.push_back(record.learning_rates[0].second);
  REQUIRE(rates.size() == 50);
  CHECK(near(rates.front(), 1));
  CHECK(near(rates.back(), 0));
  CHECK(std::is_sorted(rates.rbegin(), rates.rend()));
}

TEST_CASE("B72: micro-batches of 8, 4, 2 and 2 are logged as 4") {
  CHECK(near(logged_loss(one_window(4), {{8}, {4}, {2}, {2}}), 4.0));
}

TEST_CASE("B75: the logged norm is the one before clipping") {
  plan::Plan plan = designed_plan();
  plan.window.size.value = 1;
  plan.update = {operation(OpKind::normalize), clip_norm(1), sgd(1), operation(OpKind::zero_grad)};
  auto run = designed_run(plan, {{3.7, 0}});
  run->run();
  CHECK(near(*run->recorder.all[0].grad_norm, 3.7));
  CHECK(run->recorder.all[0].clipped);
  check_theta(*run, {-1, 0});
  plan.update[1] = clip_norm(10);
  auto idle = designed_run(plan, {{3.7, 0}});
  idle->run();
  CHECK_FALSE(idle->recorder.all[0].clipped);
  plan.update[1] = clip_value(2);
  auto value = designed_run(plan, {{3.7, -1}});
  value->run();
  check_theta(*value, {-2, 1});
  CHECK(value->recorder.all[0].clipped);
  CHECK(near(*value->recorder.all[0].grad_norm, std::sqrt(3.7 * 3.7 + 1)));
}

}  // namespace
}  // namespace loop::testing
