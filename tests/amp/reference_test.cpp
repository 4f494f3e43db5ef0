// Mixed precision against PyTorch's: the scaler number by number, whole updates with it, gradients under
// autocast. The numbers are made by reference.py.
#include <doctest/doctest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "designed_run.h"
#include "runtime/amp/loss_scaler.h"

namespace loop::testing {
namespace {

using Json = nlohmann::json;

Json reference(const char* part) {
  std::ifstream file(LOOP_AMP_REFERENCE);
  REQUIRE_MESSAGE(file, "reference.py has not been run");
  return Json::parse(file).at(part);
}

plan::Amp rule_of(const Json& rule) {
  plan::Amp amp;
  amp.mode = plan::AmpMode::fp16;
  amp.init_scale = rule.at("init_scale");
  amp.growth_factor = rule.at("growth_factor");
  amp.backoff_factor = rule.at("backoff_factor");
  amp.growth_interval = rule.at("growth_interval");
  amp.min_scale = 1e-30;  // PyTorch has no floor
  return amp;
}

TEST_CASE("the scaler is GradScaler, number by number") {
  for (const Json& one : reference("scalers")) {
    amp::LossScaler scaler(rule_of(one.at("rule")));
    REQUIRE(one.at("verdicts").size() > 20);
    for (size_t i = 0; i < one.at("verdicts").size(); ++i) {
      CAPTURE(one.at("rule").dump());
      CAPTURE(i);
      scaler.update(one.at("verdicts")[i].get<bool>());
      REQUIRE(scaler.scale() == one.at("path")[i][0].get<double>());
      REQUIRE(scaler.state().applied_in_a_row == one.at("path")[i][1].get<int64_t>());
    }
  }
}

std::vector<Operation> scaled_micro(plan::LossMode mode) {
  using Symbol = plan::Power::Symbol;
  std::vector<Operation> inner = {operation(OpKind::autocast, {operation(OpKind::forward), loss(mode)})};
  if (mode == plan::LossMode::mean)
    inner.push_back(scale(OpKind::scale_loss, 1, {power(Symbol::micro_batches, -1)}));
  inner.push_back(scale(OpKind::scale_loss, 1, {power(Symbol::loss_scale, 1)}));
  inner.push_back(operation(OpKind::backward));
  return {operation(OpKind::sync_on, std::move(inner))};
}

TEST_CASE("updates with overflows are those of PyTorch's loop, whatever the scale is divided by") {
  const Json expected = reference("training");
  Rows rows;
  for (const Json& row : expected.at("rows")) {
    rows.emplace_back();
    for (const Json& x : row)
      rows.back().push_back(x.is_string() ? std::numeric_limits<double>::infinity() : x.get<double>());
  }
  const auto windows = static_cast<int64_t>(expected.at("path").size());
  for (const plan::LossMode mode : {plan::LossMode::sum, plan::LossMode::mean}) {
    plan::Plan plan = designed_plan();
    plan.amp = rule_of(expected.at("rule"));
    plan.window.size.value = expected.at("micro_batches");
    plan.micro = scaled_micro(mode);
    plan.update = {operation(OpKind::unscale)};
    if (mode == plan::LossMode::sum) plan.update.push_back(operation(OpKind::normalize));
    const auto rate =
        Expression::apply("/", {constant(0.1), Expression::apply("+", {constant(1), clock("updates")})});
    for (Operation& one : std::vector<Operation>{
             clip_norm(0.5), sgd(rate, 0.9), operation(OpKind::update_scale), operation(OpKind::zero_grad)})
      plan.update.push_back(std::move(one));
    plan.stop = {reached(plan::Clock::attempts, static_cast<double>(windows))};
    auto run = designed_run(plan, rows);
    run->run();
    REQUIRE(run->recorder.all.size() == static_cast<size_t>(windows));
    for (size_t w = 0; w < run->recorder.all.size(); ++w) {
      CAPTURE(w);
      const Json& then = expected.at("path")[w];
      const telemetry::UpdateRecord& record = run->recorder.all[w];
      const double before = w == 0 ? 4096.0 : expected.at("path")[w - 1].at("scale").get<double>();
      CHECK(*record.loss_scale == before);
      CHECK(record.loss_scale_divisor == (mode == plan::LossMode::sum ? 4 : 1));  // near 3 rows
      CHECK(record.optimizer_step == then.at("applied").get<int64_t>());
      const torch::Tensor theta = torch::tensor(then.at("theta").get<std::vector<double>>(), torch::kFloat64);
      CHECK(distance(run->parameters.at(w + 1), theta) < 1e-12);
    }
    const amp::ScalerState& last = run->trainer->windows().loss_scaler()->state();
    CHECK(last.scale == expected.at("path").back().at("scale").get<double>());
    CHECK(last.applied_in_a_row == expected.at("path").back().at("tracker").get<int64_t>());
  }
}

/// linear(tanh(linear(x)))
class TwoLayers : public Model {
 public:
  TwoLayers(int64_t in, int64_t hidden, int64_t classes)
      : first_(register_module("first", torch::nn::Linear(in, hidden))),
        second_(register_module("second", torch::nn::Linear(hidden, classes))) {}
  torch::Tensor forward(const Batch& batch) override { return second_(torch::tanh(first_(batch.inputs))); }

 private:
  torch::nn::Linear first_, second_;
};

class ClassSource : public Source {
 public:
  ClassSource(torch::Tensor inputs, torch::Tensor targets, int64_t classes)
      : inputs_(std::move(inputs)), targets_(std::move(targets)) {
    info_.classes = info_.outputs = classes;
    info_.input_shape = {inputs_.size(1)};
  }
  int64_t size() const override { return inputs_.size(0); }
  int64_t positions(int64_t) const override { return 1; }
  int64_t counted(int64_t, std::optional<int64_t>) const override { return 1; }
  Batch collate(std::span<const int64_t> samples, int64_t) const override {
    const torch::Tensor rows =
        torch::tensor(std::vector<int64_t>(samples.begin(), samples.end()), torch::kInt64);
    Batch batch;
    batch.samples = batch.positions = rows.numel();
    batch.inputs = inputs_.index_select(0, rows);
    batch.targets = targets_.index_select(0, rows);
    return batch;
  }
  const DataInfo& info() const override { return info_; }

 private:
  torch::Tensor inputs_, targets_;
  DataInfo info_;
};

TEST_CASE("a window's gradient under autocast is PyTorch's, for one micro-batch and for four") {
  const Json expected = reference("gradients");
  const auto classes = expected.at("classes").get<int64_t>();
  std::vector<float> flat;
  for (const Json& row : expected.at("inputs"))
    for (const Json& x : row) flat.push_back(x);
  const auto rows = static_cast<int64_t>(expected.at("inputs").size());
  const torch::Tensor inputs = torch::tensor(flat).view({rows, -1});
  const torch::Tensor targets =
      torch::tensor(expected.at("targets").get<std::vector<int64_t>>(), torch::kInt64);
  register_model("test_two_layers",
                 [&](const plan::Component&, const DataInfo& data) -> std::shared_ptr<Model> {
                   return std::make_shared<TwoLayers>(data.input_shape.at(0),
                                                      expected.at("hidden").get<int64_t>(), data.classes);
                 });
  for (const int64_t micro_batches : {4, 1}) {
    for (const auto& [mode, spelling] : {std::pair{plan::AmpMode::off, "off"},
                                         {plan::AmpMode::bf16, "bf16"},
                                         {plan::AmpMode::fp16, "fp16"}}) {
      CAPTURE(micro_batches);
      CAPTURE(spelling);
      plan::Plan plan = designed_plan();
      plan.dtype = plan::Dtype::fp32;
      plan.model = {"test_two_layers", plan::json::object()};
      plan.terms = {term("main", "cross_entropy")};
      plan.amp.mode = mode;
      plan.amp.init_scale = 4096;
      plan.data.micro_batch_samples = rows / micro_batches;
      plan.window.size.value = micro_batches;
      plan.micro = scaled_micro(plan::LossMode::sum);
      plan.update = {operation(OpKind::unscale), operation(OpKind::normalize), sgd(1),
                     operation(OpKind::update_scale), operation(OpKind::zero_grad)};
      engine::Sources sources;
      sources["train"] = std::make_unique<ClassSource>(inputs, targets, classes);
      TinyRun run(plan, std::move(sources));
      {
        const torch::NoGradGuard no_grad;
        size_t next = 0;
        for (torch::Tensor& parameter : run.parts.model->parameters()) {
          const auto values = expected.at("weights")[next++].get<std::vector<float>>();
          parameter.copy_(torch::tensor(values).view(parameter.sizes()));
        }
      }
      const torch::Tensor before = run.now();
      run.run();
      const torch::Tensor gradient = before - run.now();  // of the mean: the learning rate is 1
      const auto wanted = [&](const char* of) {
        return torch::tensor(expected.at("modes").at(of).get<std::vector<double>>(), torch::kFloat64);
      };
      CHECK(*run.recorder.all.at(0).loss > 0);
      // Micro-batches of another size add up in another order, which autocast's few digits show.
      const double tolerance = micro_batches == 4            ? 1e-6
                               : mode == plan::AmpMode::off  ? 1e-6
                               : mode == plan::AmpMode::fp16 ? 1e-3
                                                             : 8e-3;
      CHECK(distance(gradient, wanted(spelling)) < tolerance);
      if (mode != plan::AmpMode::off) CHECK(distance(gradient, wanted("off")) > 1e-4);  // it is autocast's
    }
  }
}

}  // namespace
}  // namespace loop::testing
