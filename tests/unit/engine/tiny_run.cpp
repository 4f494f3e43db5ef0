#include "tiny_run.h"

#include <algorithm>
#include <random>

#include "compiler/kernels/compiled_rule.h"
#include "loop/model.h"
#include "tests/support/standard_rules.h"

namespace loop::testing {

namespace {

/// tanh(embedding(token)) · weightᵀ + bias for every position; a dropout between them when the model's
/// argument asks for it.
class Tiny : public Model {
 public:
  explicit Tiny(double dropout)
      : dropout_(dropout),
        embedding_(register_module("embedding", torch::nn::Embedding(kVocabulary, kWidth))),
        head_(register_module("head", torch::nn::Linear(kWidth, kVocabulary))) {}
  torch::Tensor forward(const Batch& batch) override {
    torch::Tensor hidden = torch::tanh(embedding_(batch.inputs));
    if (dropout_ > 0) hidden = torch::dropout(hidden, dropout_, is_training());
    return head_(hidden);
  }

 private:
  double dropout_;
  torch::nn::Embedding embedding_;
  torch::nn::Linear head_;
};

void register_tiny() {
  static const bool once = [] {
    register_model("test_tiny",
                   [](const plan::Component& component, const DataInfo&) -> std::shared_ptr<Model> {
                     return std::make_shared<Tiny>(component.args.value("dropout", 0.0));
                   });
    return true;
  }();
  (void)once;
}

}  // namespace

MemorySource::MemorySource(std::vector<Sequence> sequences) : sequences_(std::move(sequences)) {
  info_.vocabulary = info_.classes = kVocabulary;
  for (const Sequence& one : sequences_) {
    info_.context = std::max(info_.context, static_cast<int64_t>(one.inputs.size()));
  }
}

int64_t MemorySource::positions(int64_t sample) const {
  return static_cast<int64_t>(sequences_[static_cast<size_t>(sample)].inputs.size());
}

int64_t MemorySource::counted(int64_t sample, std::optional<int64_t> ignore) const {
  const auto& targets = sequences_[static_cast<size_t>(sample)].targets;
  return std::count_if(targets.begin(), targets.end(), [&](int64_t target) {
    return target != kPaddingTarget && (!ignore || target != *ignore);
  });
}

Batch MemorySource::collate(std::span<const int64_t> samples, int64_t padding_rows) const {
  int64_t length = 0;
  for (const int64_t sample : samples) length = std::max(length, positions(sample));
  const auto rows = static_cast<int64_t>(samples.size()) + padding_rows;
  Batch batch;
  batch.inputs = torch::zeros({rows, length}, torch::kInt64);
  batch.targets = torch::full({rows, length}, kPaddingTarget, torch::kInt64);
  for (int64_t row = 0; row < static_cast<int64_t>(samples.size()); ++row) {
    const Sequence& one = sequences_[static_cast<size_t>(samples[static_cast<size_t>(row)])];
    for (int64_t i = 0; i < static_cast<int64_t>(one.inputs.size()); ++i) {
      batch.inputs[row][i] = one.inputs[static_cast<size_t>(i)];
      batch.targets[row][i] = one.targets[static_cast<size_t>(i)];
    }
  }
  batch.samples = static_cast<int64_t>(samples.size());
  batch.positions = rows * length;
  batch.sample_ids.assign(samples.begin(), samples.end());
  return batch;
}

std::vector<Sequence> sequences(const std::vector<int64_t>& counted, uint64_t seed, int64_t extra_positions) {
  std::mt19937_64 random(seed);
  std::vector<Sequence> result;
  for (const int64_t count : counted) {
    Sequence one;
    for (int64_t i = 0; i < count + extra_positions; ++i) {
      one.inputs.push_back(static_cast<int64_t>(random() % kVocabulary));
      one.targets.push_back(static_cast<int64_t>(random() % kVocabulary));
    }
    for (int64_t i = 0; i < extra_positions; ++i) one.targets[static_cast<size_t>(i)] = kPaddingTarget;
    std::shuffle(one.targets.begin(), one.targets.end(), random);
    result.push_back(std::move(one));
  }
  return result;
}

namespace {

engine::Sources in_memory(std::vector<Sequence> train, std::map<std::string, std::vector<Sequence>> others) {
  engine::Sources sources;
  sources["train"] = std::make_unique<MemorySource>(std::move(train));
  for (auto& [name, data] : others) sources[name] = std::make_unique<MemorySource>(std::move(data));
  return sources;
}

}  // namespace

TinyRun::TinyRun(plan::Plan plan, std::vector<Sequence> train,
                 std::map<std::string, std::vector<Sequence>> others)
    : TinyRun(std::move(plan), in_memory(std::move(train), std::move(others))) {}

TinyRun::TinyRun(plan::Plan plan, engine::Sources sources, std::shared_ptr<distributed::Communicator> ranks) {
  register_tiny();
  parts = engine::assemble(completed(std::move(plan)), std::move(sources), std::move(ranks),
                           kernels::rule_compiler());
  trainer = std::make_unique<engine::Trainer>(parts, recorder);
  trainer->windows().on_gradient([this](const engine::WindowState&) {
    gradients.push_back(parts.parameters->flat_gradient());
    parameters.push_back(now());
  });
}

engine::Ending TinyRun::run(const std::function<bool()>& interrupted) {
  const engine::Ending ending = trainer->run(interrupted);
  parameters.push_back(now());
  return ending;
}

Reference::Reference(const torch::Tensor& flat) {
  const int64_t matrix = kVocabulary * kWidth;
  const auto leaf = [&](int64_t offset, torch::IntArrayRef shape, int64_t size) {
    return flat.narrow(0, offset, size).clone().view(shape).set_requires_grad(true);
  };
  embedding = leaf(0, {kVocabulary, kWidth}, matrix);
  weight = leaf(matrix, {kVocabulary, kWidth}, matrix);
  bias = leaf(2 * matrix, {kVocabulary}, kVocabulary);
}

torch::Tensor Reference::flat() const {
  return torch::cat({embedding.flatten(), weight.flatten(), bias.flatten()}).detach();
}

std::pair<torch::Tensor, torch::Tensor> Reference::counted_logits(const std::vector<Sequence>& batch) const {
  std::vector<int64_t> inputs, targets;
  for (const Sequence& one : batch) {
    for (size_t i = 0; i < one.inputs.size(); ++i) {
      if (one.targets[i] == kPaddingTarget) continue;
      inputs.push_back(one.inputs[i]);
      targets.push_back(one.targets[i]);
    }
  }
  const torch::Tensor hidden = torch::tanh(embedding.index_select(0, torch::tensor(inputs, torch::kInt64)));
  return {torch::addmm(bias, hidden, weight.t()), torch::tensor(targets, torch::kInt64)};
}

torch::Tensor Reference::mean_loss(const std::vector<Sequence>& batch, double label_smoothing) const {
  const auto [logits, targets] = counted_logits(batch);
  const torch::Tensor log_probability = torch::log_softmax(logits, 1);
  const torch::Tensor nll = -log_probability.gather(1, targets.unsqueeze(1)).squeeze(1);
  const torch::Tensor uniform = -log_probability.mean(1);
  return ((1 - label_smoothing) * nll + label_smoothing * uniform).mean();
}

torch::Tensor Reference::gradient(const torch::Tensor& loss) const {
  const auto parts = torch::autograd::grad({loss}, {embedding, weight, bias});
  return torch::cat({parts[0].flatten(), parts[1].flatten(), parts[2].flatten()});
}

double distance(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a - b).norm() / b.norm()).item<double>();
}

std::vector<Sequence> slice(const std::vector<Sequence>& all, int64_t first, int64_t last) {
  return {all.begin() + first, all.begin() + last};
}

}  // namespace loop::testing
