#include "designed_run.h"

#include <algorithm>
#include <cmath>

namespace loop::testing {

namespace {

std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>> graphs;  // a tensor that only the graph keeps
int64_t most_graphs = 0;

class Dot : public Model {
 public:
  explicit Dot(int64_t features, double momentum) {
    theta_ = register_parameter("theta", torch::zeros({features}, torch::kFloat64));
    // A running statistic of the inputs, as BatchNorm has one; 0: none.
    if (momentum > 0) mean_ = register_buffer("mean", torch::zeros({features}, torch::kFloat64));
    momentum_ = momentum;
  }
  torch::Tensor forward(const Batch& batch) override {
    if (mean_.defined() && is_training()) {
      const torch::NoGradGuard no_grad;
      mean_.mul_(1 - momentum_).add_(batch.inputs.mean(0), momentum_);
    }
    torch::Tensor dot = torch::mv(batch.inputs, theta_);
    const bool root = batch.inputs.size(0) == 1 && batch.inputs[0][-1].item<double>() == kRoot;
    if (root) dot = dot.sqrt();
    const torch::Tensor marker = torch::ones_like(dot);
    torch::Tensor outputs = (dot * marker).unsqueeze(1);
    graphs.emplace_back(marker.getIntrusivePtr());
    most_graphs = std::max(most_graphs, std::count_if(graphs.begin(), graphs.end(),
                                                      [](const auto& graph) { return !graph.expired(); }));
    return outputs;
  }

 private:
  torch::Tensor theta_, mean_;
  double momentum_ = 0;
};

class RowSource : public Source {
 public:
  explicit RowSource(Rows rows) : rows_(std::move(rows)) {
    info_.outputs = 1;
    info_.input_shape = {static_cast<int64_t>(rows_.at(0).size())};
  }
  int64_t size() const override { return static_cast<int64_t>(rows_.size()); }
  int64_t positions(int64_t) const override { return 1; }
  int64_t counted(int64_t, std::optional<int64_t>) const override { return 1; }
  Batch collate(std::span<const int64_t> samples, int64_t) const override {
    Batch batch;
    batch.samples = batch.positions = static_cast<int64_t>(samples.size());
    batch.inputs = torch::zeros({batch.samples, info_.input_shape[0]}, torch::kFloat64);
    batch.targets = torch::full({batch.samples, 1}, -0.5, torch::kFloat64);
    for (int64_t row = 0; row < batch.samples; ++row) {
      const auto& values = rows_[static_cast<size_t>(samples[static_cast<size_t>(row)])];
      batch.inputs[row] = torch::tensor(values, torch::kFloat64);
    }
    return batch;
  }
  const DataInfo& info() const override { return info_; }

 private:
  Rows rows_;
  DataInfo info_;
};

/// Two classes, target 0, outputs [0, ln(e^v - 1) + θ]: at θ = 0 the cross entropy is v.
class Told : public Model {
 public:
  explicit Told(std::vector<double> values) : values_(torch::tensor(values, torch::kFloat64)) {
    theta_ = register_parameter("theta", torch::zeros({1}, torch::kFloat64));
  }
  torch::Tensor forward(const Batch& batch) override {
    const torch::Tensor values = values_.index_select(0, batch.inputs.flatten()).view(batch.inputs.sizes());
    const torch::Tensor second = torch::log(torch::exp(values) - 1) + theta_;
    return torch::stack({torch::zeros_like(second), second}, -1);
  }

 private:
  torch::Tensor values_, theta_;
};

void register_designed() {
  static const bool once = [] {
    register_model(
        "test_dot", [](const plan::Component& component, const DataInfo& data) -> std::shared_ptr<Model> {
          return std::make_shared<Dot>(data.input_shape.at(0), component.args.value("momentum", 0.0));
        });
    register_model("test_told",
                   [](const plan::Component& component, const DataInfo&) -> std::shared_ptr<Model> {
                     return std::make_shared<Told>(component.args.at("values").get<std::vector<double>>());
                   });
    return true;
  }();
  (void)once;
}

}  // namespace

plan::Plan designed_plan() {
  plan::Plan plan = tiny_plan();
  plan.model = {"test_dot", plan::json::object()};
  plan.data.micro_batch_samples = 1;
  plan.count_classes = {{plan::CountUnit::samples, 1, std::nullopt, std::nullopt}};
  plan.terms = {term("main", "mse")};
  plan.update = {operation(OpKind::normalize), sgd(1), operation(OpKind::zero_grad)};
  plan.stop = {reached(plan::Clock::updates, 1)};
  return plan;
}

std::unique_ptr<TinyRun> designed_run(plan::Plan plan, Rows rows, Rows held_out,
                                      std::shared_ptr<distributed::Communicator> ranks) {
  register_designed();
  engine::Sources sources;
  sources["train"] = std::make_unique<RowSource>(std::move(rows));
  if (!held_out.empty()) sources["valid"] = std::make_unique<RowSource>(std::move(held_out));
  return std::make_unique<TinyRun>(std::move(plan), std::move(sources), std::move(ranks));
}

std::vector<double> theta(const TinyRun& run) {
  const torch::Tensor flat = run.now();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

std::unique_ptr<TinyRun> run_with_losses(plan::Plan plan, const std::vector<std::vector<double>>& losses) {
  register_designed();
  std::vector<double> values;
  std::vector<Sequence> data;
  for (const auto& sample : losses) {
    Sequence one;
    for (const double loss : sample) {
      one.inputs.push_back(static_cast<int64_t>(values.size()));
      one.targets.push_back(0);
      values.push_back(loss);
    }
    data.push_back(std::move(one));
  }
  plan.model = {"test_told", {{"values", values}}};
  return std::make_unique<TinyRun>(std::move(plan), std::move(data));
}

int64_t most_live_graphs() {
  return std::exchange(most_graphs, 0);
}

}  // namespace loop::testing
