#include "runtime/verify/verify.h"

#include <doctest/doctest.h>

#include <sstream>

#include "tests/support/standard_rules.h"
#include "tests/unit/engine/plan_builder.h"

namespace loop::testing {

namespace {

/// Rows of four numbers with `width` targets each.
class Rows : public Source {
 public:
  explicit Rows(int64_t size, int64_t width) : size_(size) {
    info_.outputs = width;
    info_.input_shape = {4};
    torch::manual_seed(3);
    inputs_ = torch::randn({size, 4}, torch::kFloat64);
    targets_ = torch::randn({size, width}, torch::kFloat64);
  }
  int64_t size() const override { return size_; }
  int64_t positions(int64_t) const override { return 1; }
  int64_t counted(int64_t, std::optional<int64_t>) const override { return 1; }
  Batch collate(std::span<const int64_t> samples, int64_t) const override {
    const auto index = torch::tensor(std::vector<int64_t>(samples.begin(), samples.end()), torch::kInt64);
    Batch batch;
    batch.samples = batch.positions = static_cast<int64_t>(samples.size());
    batch.inputs = inputs_.index_select(0, index);
    batch.targets = targets_.index_select(0, index);
    batch.sample_ids.assign(samples.begin(), samples.end());
    return batch;
  }
  const DataInfo& info() const override { return info_; }

 private:
  int64_t size_;
  DataInfo info_;
  torch::Tensor inputs_, targets_;
};

/// Noise that no option switches off; or outputs that read the mean over the batch.
class Odd : public Model {
 public:
  explicit Odd(bool noisy) : noisy_(noisy), head_(register_module("head", torch::nn::Linear(4, 1))) {}
  torch::Tensor forward(const Batch& batch) override {
    const torch::Tensor x = batch.inputs;
    if (batch.inputs.size(0) == 0) return head_(x);
    return head_(noisy_ ? x + 0.1 * torch::randn_like(x) : x - x.mean(0, true));
  }

 private:
  bool noisy_;
  torch::nn::Linear head_;
};

plan::Plan rows_plan() {
  static const bool once = [] {
    register_model("test_noisy", [](const auto&, const DataInfo&) -> std::shared_ptr<Model> {
      return std::make_shared<Odd>(true);
    });
    register_model("test_coupled", [](const auto&, const DataInfo&) -> std::shared_ptr<Model> {
      return std::make_shared<Odd>(false);
    });
    return true;
  }();
  (void)once;
  plan::Plan plan = tiny_plan();
  plan.model = {"mlp", {{"hidden", {5}}, {"activation", "tanh"}}};
  plan.data.micro_batch_samples = 3;
  plan.window.size.value = 3;
  plan.count_classes = {{plan::CountUnit::samples, 1, std::nullopt, std::nullopt}};
  plan.terms = {term("main", "mse")};
  plan.micro.front().sync_on = plan::SyncOn::last;
  return plan;
}

verify::Report verified(const plan::Plan& plan, verify::VerifyOptions options = {}, int64_t width = 1) {
  engine::Sources sources;
  sources["train"] = std::make_unique<Rows>(23, width);
  return verify::verify(completed(plan), std::move(sources), options);
}

std::string cause(const verify::Report& report) {
  std::ostringstream text;
  verify::write_text(text, report);
  INFO(text.str());
  for (const verify::Trial& trial : report.trials) {
    if (!trial.comparison.equal()) return trial.cause;
  }
  return "";
}

}  // namespace

TEST_CASE("a right spec is equal on any number of ranks, in the first window and in the tail") {
  for (const int64_t ranks : {0, 1, 2, 3}) {
    for (const char* window : {"first", "2", "tail"}) {
      const verify::Report report = verified(rows_plan(), {.window = window, .ranks = ranks});
      CHECK(report.equal());
      CHECK(report.trials.size() == (ranks == 0 ? 2 : 1));
    }
  }
}

TEST_CASE("windows in samples, a mean reduction and clips are followed") {
  plan::Plan plan = rows_plan();
  plan.window.size = {plan::WindowSize::Unit::samples, 10, std::nullopt};
  plan.window.reduce = plan::ReduceMode::mean;
  plan.update = {operation(OpKind::normalize), clip_norm(1e-3), sgd(0.1), operation(OpKind::zero_grad)};
  CHECK(verified(plan).equal());
  std::swap(plan.update[0], plan.update[1]);
  const verify::Report report = verified(plan);
  CHECK(cause(report).find("clip") == 0);
}

TEST_CASE("a mean of means is named where micro-batches differ") {
  plan::Plan plan = rows_plan();
  plan.micro = {operation(OpKind::forward), loss(plan::LossMode::mean),
                scale(OpKind::scale_loss, 1, {power(plan::Power::Symbol::micro_batches_counted, -1)}),
                operation(OpKind::backward)};
  plan.canonical_micro = false;
  plan.update = {sgd(0.1)};
  const verify::Report report = verified(plan, {.window = "tail", .ranks = 1});
  CHECK(cause(report) == "loss_reduction");
  CHECK(verified(plan, {.window = "first", .ranks = 1}).equal());
}

TEST_CASE("a wrong denominator is named with its factor") {
  plan::Plan plan = rows_plan();
  plan.update = {scale(OpKind::scale_grad, 0.5), operation(OpKind::normalize), sgd(0.1)};
  const verify::Report report = verified(plan);
  CHECK(cause(report) == "denominator");
  REQUIRE(report.trials[0].diagnosis->factors);
  const verify::FoundFactor& one = report.trials[0].diagnosis->factors->list.front();
  CHECK(one.found == doctest::Approx(0.5 / 9));
  CHECK(one.right == doctest::Approx(1.0 / 9));
}

TEST_CASE("BatchNorm, random layers and a model that couples samples are named") {
  plan::Plan plan = rows_plan();
  plan.batch_norm = plan::BatchNorm::per_micro;
  plan.model = {"mlp", {{"hidden", {5}}, {"activation", "tanh"}, {"batch_norm", true}}};
  CHECK(cause(verified(plan)) == "batch_norm");
  plan.batch_norm = plan::BatchNorm::frozen;
  CHECK(verified(plan).equal());
  plan.model = {"test_noisy", plan::json::object()};
  CHECK(cause(verified(plan)) == "random_layer");
  plan.model = {"test_coupled", plan::json::object()};
  CHECK(cause(verified(plan)) == "batch_coupled_model");
}

TEST_CASE("a loss that couples samples is named") {
  plan::Plan plan = rows_plan();
  plan.terms = {term("main", "info_nce")};
  CHECK(cause(verified(plan, {}, 3)) == "batch_coupled_loss");
  plan.window.size.value = 1;
  CHECK(verified(plan, {.ranks = 1}, 3).equal());
}

TEST_CASE("a tolerance below rounding leaves the order of summation") {
  const verify::Report report = verified(rows_plan(), {.ranks = 1, .tolerance = 0});
  CHECK(cause(report) == "order_of_summation");
}

TEST_CASE("windows that do not exist are refused") {
  CHECK_THROWS_AS(verified(rows_plan(), {.window = "last"}), Error);
  CHECK_THROWS_AS(verified(rows_plan(), {.window = "0"}), Error);
}

}  // namespace loop::testing
