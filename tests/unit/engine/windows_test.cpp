// One window is one big batch: gradient and parameters against a reference written with plain tensor
// operations, in FP64.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "tiny_run.h"

namespace loop::testing {
namespace {

constexpr double kTolerance = 1e-10;

using Indices = std::vector<int64_t>;

/// The reference's windows, by what the language says: lists of samples.
std::vector<Indices> reference_windows(const std::vector<Sequence>& data, const plan::Plan& plan,
                                       int64_t epochs) {
  using Unit = plan::WindowSize::Unit;
  const auto counted = [&](int64_t sample) {
    int64_t count = 0;
    for (const int64_t target : data[static_cast<size_t>(sample)].targets) count += target != kPaddingTarget;
    return count;
  };
  const plan::WindowSize& size = plan.window.size;
  const auto n = static_cast<int64_t>(data.size());
  std::vector<Indices> windows;
  Indices open;
  int64_t reached = 0, micro = 0;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    for (int64_t sample = 0; sample < n; ++sample) {
      open.push_back(sample);
      const bool closes_micro = ++micro == plan.data.micro_batch_samples || sample == n - 1;
      if (closes_micro) micro = 0;
      reached += size.unit == Unit::samples ? 1 : size.unit == Unit::tokens ? counted(sample) : closes_micro;
      if (reached < size.value) continue;
      windows.push_back(std::exchange(open, {}));
      reached = 0;
    }
    if (plan.window.tail == plan::Tail::carry) continue;
    if (plan.window.tail == plan::Tail::flush && !open.empty()) windows.push_back(open);
    open.clear();
    reached = 0;
  }
  return windows;
}

std::vector<Sequence> pick(const std::vector<Sequence>& data, const Indices& samples) {
  std::vector<Sequence> result;
  for (const int64_t sample : samples) result.push_back(data[static_cast<size_t>(sample)]);
  return result;
}

int64_t counted(const std::vector<Sequence>& batch) {
  int64_t count = 0;
  for (const Sequence& one : batch) {
    for (const int64_t target : one.targets) count += target != kPaddingTarget;
  }
  return count;
}

struct SgdMomentum {
  double lr, momentum;
  torch::Tensor buffer;
  torch::Tensor operator()(const torch::Tensor& p, const torch::Tensor& g) {
    buffer = buffer.defined() ? momentum * buffer + g : g.clone();
    return p - lr * buffer;
  }
};

struct AdamW {
  double lr, beta1 = 0.9, beta2 = 0.99, eps = 1e-8, decay = 0.1;
  torch::Tensor m, v;
  int t = 0;
  torch::Tensor operator()(const torch::Tensor& p, const torch::Tensor& g) {
    ++t;
    m = (m.defined() ? beta1 * m : torch::zeros_like(p)) + (1 - beta1) * g;
    v = (v.defined() ? beta2 * v : torch::zeros_like(p)) + (1 - beta2) * g * g;
    const torch::Tensor m_hat = m / (1 - std::pow(beta1, t)), v_hat = v / (1 - std::pow(beta2, t));
    return p * (1 - lr * decay) - lr * m_hat / (v_hat.sqrt() + eps);
  }
};

using Objective = std::function<torch::Tensor(const Reference&, const std::vector<Sequence>&)>;
torch::Tensor mean_loss(const Reference& at, const std::vector<Sequence>& batch) {
  return at.mean_loss(batch);
}

/// Runs the plan and the reference side by side and compares after every window.
template <class Rule>
void compare(const plan::Plan& plan, const std::vector<Sequence>& data, int64_t epochs, Rule rule,
             double clip = 0, const Objective& objective = mean_loss) {
  TinyRun run(plan, data);
  run.run();
  torch::Tensor expected = run.parameters.front();
  size_t update = 0;
  for (const Indices& window : reference_windows(data, plan, epochs)) {
    const std::vector<Sequence> batch = pick(data, window);
    if (counted(batch) == 0) continue;  // empty: skipped
    REQUIRE(update + 1 < run.parameters.size());
    const Reference at(expected);
    const torch::Tensor loss = objective(at, batch);
    torch::Tensor gradient = at.gradient(loss);
    if (clip > 0) gradient = gradient * std::min(1.0, clip / gradient.norm().item<double>());
    expected = rule(expected, gradient);
    ++update;
    CHECK(distance(run.parameters[update], expected) < kTolerance);
  }
  CHECK(update == run.gradients.size());
  CHECK(run.trainer->clocks().updates == static_cast<int64_t>(update));
}

TEST_CASE("any split of any window equals one big batch") {
  std::mt19937_64 random(42);
  const auto draw = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % uint64_t(high - low + 1));
  };
  for (int trial = 0; trial < 60; ++trial) {
    CAPTURE(trial);
    Indices counts(static_cast<size_t>(draw(5, 14)));
    for (int64_t& count : counts) count = draw(0, 6);
    const auto data = sequences(counts, static_cast<uint64_t>(trial));
    plan::Plan plan = tiny_plan();
    plan.data.micro_batch_samples = draw(1, 4);
    const std::array units = {plan::WindowSize::Unit::micro_batches, plan::WindowSize::Unit::samples,
                              plan::WindowSize::Unit::tokens};
    plan.window.size.unit = units[static_cast<size_t>(trial % 3)];
    plan.window.size.value = trial % 3 == 2 ? draw(1, 9) : draw(1, 5);
    const std::array tails = {plan::Tail::flush, plan::Tail::carry, plan::Tail::drop};
    plan.window.tail = tails[static_cast<size_t>(trial / 3 % 3)];
    if (plan.window.tail == plan::Tail::drop) {  // one window must fit into an epoch
      plan.window.size.value = 1;
      if (std::accumulate(counts.begin(), counts.end(), int64_t{0}) == 0) continue;
    }
    const int64_t epochs = draw(1, 3);
    plan.stop = {reached(plan::Clock::epochs, double(epochs))};
    const double clip = trial % 2 ? 0.3 : 0;
    plan.update = {operation(OpKind::normalize)};
    if (clip > 0) plan.update.push_back(clip_norm(clip));
    if (trial % 4 < 2) {
      plan.update.push_back(sgd(0.5, 0.9));
      plan.update.push_back(operation(OpKind::zero_grad));
      compare(plan, data, epochs, SgdMomentum{0.5, 0.9, {}}, clip);
    } else {
      plan.update.push_back(adamw(0.05));
      plan.update.push_back(operation(OpKind::zero_grad));
      compare(plan, data, epochs, AdamW{0.05}, clip);
    }
  }
}

TEST_CASE("unequal counts in one window") {
  for (const Indices& counts :
       {Indices{2, 6}, Indices{3, 5, 2}, Indices{3, 0, 2}, Indices{0, 5}, Indices{10, 100}}) {
    CAPTURE(counts.size());
    plan::Plan plan = tiny_plan();
    plan.data.micro_batch_samples = 1;
    plan.window.size.value = static_cast<int64_t>(counts.size());
    plan.stop = {reached(plan::Clock::updates, 1)};
    compare(plan, sequences(counts), 1, SgdMomentum{0.5, 0, {}});
    // The gradient itself, before any rule: Σ over the window, divided by the real N.
    TinyRun run(plan, sequences(counts));
    run.run();
    const Reference at(run.parameters.front());
    const auto n = static_cast<double>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
    CHECK(distance(run.gradients[0] / n, at.gradient(at.mean_loss(sequences(counts)))) < kTolerance);
    CHECK(run.recorder.all[0].global_effective_tokens == n);
  }
}

TEST_CASE("a tail of one sample is divided by its own count") {
  plan::Plan plan = tiny_plan();
  plan.stop = {reached(plan::Clock::epochs, 2)};
  const auto data = sequences({3, 4, 2, 5, 6});  // windows of 4 samples, then one of 1
  compare(plan, data, 2, SgdMomentum{0.5, 0, {}});
  TinyRun run(plan, data);
  run.run();
  CHECK(run.recorder.all[1].tail);
  CHECK(run.recorder.all[1].global_effective_tokens == 6);
  CHECK(run.recorder.all[1].micro_batches == 1);
}

TEST_CASE("label smoothing shares the mask of its targets") {
  plan::Plan plan = tiny_plan();
  plan.terms = {term("main", "cross_entropy", 1, 0, {{"label_smoothing", 0.2}})};
  plan.stop = {reached(plan::Clock::epochs, 1)};
  const auto smooth = [](const Reference& at, const std::vector<Sequence>& batch) {
    return at.mean_loss(batch, 0.2);
  };
  compare(plan, sequences({2, 6, 1, 3, 0, 4, 2}), 1, SgdMomentum{0.5, 0, {}}, 0, smooth);
  // More positions that do not count change nothing.
  compare(plan, sequences({2, 6, 1, 3, 0, 4, 2}, 1, 5), 1, SgdMomentum{0.5, 0, {}}, 0, smooth);
}

torch::Tensor z_sum(const Reference& at, const std::vector<Sequence>& batch) {
  return torch::logsumexp(at.counted_logits(batch).first, 1).square().sum();
}

TEST_CASE("two terms in one count class share one factor") {
  plan::Plan plan = tiny_plan();
  plan.terms.push_back(term("z", "z_loss", 0.25));
  plan.stop = {reached(plan::Clock::epochs, 2)};
  compare(plan, sequences({2, 6, 1, 3, 0, 4, 2}), 2, SgdMomentum{0.5, 0, {}}, 0,
          [](const Reference& at, const std::vector<Sequence>& batch) {
            return at.mean_loss(batch) + 0.25 * z_sum(at, batch) / counted(batch);
          });
}

TEST_CASE("terms in several count classes are each divided by their own count") {
  plan::Plan plan = tiny_plan();
  plan.count_classes.push_back({plan::CountUnit::samples, 1, std::nullopt, std::nullopt});
  plan.count_classes.push_back({plan::CountUnit::constant, 64, std::nullopt, std::nullopt});
  plan.count_classes.push_back({plan::CountUnit::window, 1, std::nullopt, std::nullopt});
  plan.count_classes.push_back({plan::CountUnit::micro_batch, 1, std::nullopt, std::nullopt});
  plan.terms.push_back(term("per_sample", "z_loss", 0.25, 1));
  plan.terms.push_back(term("per_64", "z_loss", 3, 2));
  plan.terms.push_back(term("per_window", "z_loss", 0.01, 3));
  plan.terms.push_back(term("per_micro", "z_loss", 0.1, 4));
  plan.micro = canonical_micro(plan::LossMode::normalized);
  plan.update = {sgd(0.5), operation(OpKind::zero_grad)};
  plan.stop = {reached(plan::Clock::epochs, 2)};
  const auto data = sequences({2, 6, 1, 3, 0, 4, 2, 0, 0});
  const auto objective = [](const Reference& at, const std::vector<Sequence>& batch) {
    int64_t samples = 0, micro_batches = 0;
    torch::Tensor means = torch::zeros({}, torch::kFloat64);
    for (size_t first = 0; first < batch.size(); first += 2) {
      const auto micro = slice(batch, int64_t(first), int64_t(std::min(first + 2, batch.size())));
      for (const Sequence& one : micro) samples += counted({one}) > 0;
      if (counted(micro) == 0) continue;
      ++micro_batches;
      means = means + z_sum(at, micro) / counted(micro);
    }
    const torch::Tensor z = z_sum(at, batch);
    return at.mean_loss(batch) + 0.25 * z / samples + 3 * z / 64 + 0.01 * z + 0.1 * means / micro_batches;
  };
  compare(plan, data, 2, SgdMomentum{0.5, 0, {}}, 0, objective);

  TinyRun run(plan, data);
  run.run();
  const Reference at(run.parameters.front());
  const auto first = slice(data, 0, 4);
  CHECK(std::abs(*run.recorder.all[0].loss - objective(at, first).item<double>()) < kTolerance);
  REQUIRE(run.recorder.all[0].losses.size() == 5);
  CHECK(std::abs(run.recorder.all[0].losses[0].second - at.mean_loss(first).item<double>()) < kTolerance);
  CHECK(std::abs(run.recorder.all[0].losses[1].second - (z_sum(at, first) / 4).item<double>()) < kTolerance);
}

TEST_CASE("a count is not below at_least") {
  plan::Plan plan = tiny_plan();
  plan.count_classes[0].at_least = constant(100);
  plan.stop = {reached(plan::Clock::updates, 1)};
  compare(plan, sequences({2, 3}), 1, SgdMomentum{0.5, 0, {}}, 0,
          [](const Reference& at, const std::vector<Sequence>& batch) {
            return at.mean_loss(batch) * counted(batch) / 100;
          });
}

TEST_CASE("a window that grows") {
  plan::Plan plan = tiny_plan();
  plan.data.micro_batch_samples = 1;
  plan.window.size.value = 3;
  plan.window.size.ramp = plan::WindowSize::Ramp{1, plan::Clock::updates, 4};
  plan.window.tail = plan::Tail::carry;
  plan.stop = {reached(plan::Clock::updates, 6)};
  const auto data = sequences({2, 6, 1, 3, 5});
  TinyRun run(plan, data);
  run.run();
  torch::Tensor expected = run.parameters.front();
  size_t at = 0;
  std::vector<int64_t> sizes;
  for (const telemetry::UpdateRecord& record : run.recorder.all) {
    std::vector<Sequence> batch;
    for (int64_t i = 0; i < record.micro_batches; ++i) batch.push_back(data[at++ % data.size()]);
    sizes.push_back(record.micro_batches);
    const Reference reference(expected);
    expected = expected - 0.5 * reference.gradient(reference.mean_loss(batch));
  }
  CHECK(distance(run.now(), expected) < kTolerance);
  CHECK(sizes == std::vector<int64_t>{1, 1, 2, 2, 3, 3});
  CHECK(run.trainer->planned_updates() == 6);
}

TEST_CASE("several steps on parameter groups, one clip over all") {
  plan::Plan plan = tiny_plan();
  plan::Group matrices, others;
  matrices.name = "matrices";
  matrices.predicate.kind = plan::Predicate::Kind::ndim;
  matrices.predicate.comparison = ">=";
  matrices.predicate.ndim = 2;
  others.name = "others";
  others.predicate.kind = plan::Predicate::Kind::others;
  plan.groups = {matrices, others};
  plan.update = {operation(OpKind::normalize), clip_norm(0.2), sgd(0.5, 0.9, {"matrices"}),
                 adamw(0.05, {"others"}), operation(OpKind::zero_grad)};
  plan.stop = {reached(plan::Clock::epochs, 2)};
  const auto data = sequences({2, 6, 1, 3, 0, 4, 2});
  const int64_t split = 2 * kVocabulary * kWidth;
  compare(
      plan, data, 2,
      [split, first = SgdMomentum{0.5, 0.9, {}}, second = AdamW{0.05}](const torch::Tensor& p,
                                                                       const torch::Tensor& g) mutable {
        return torch::cat({first(p.narrow(0, 0, split), g.narrow(0, 0, split)),
                           second(p.narrow(0, split, kVocabulary), g.narrow(0, split, kVocabulary))});
      },
      0.2);
  TinyRun run(plan, data);
  run.run();
  REQUIRE(run.recorder.all[0].learning_rates.size() == 2);
  CHECK(run.recorder.all[0].learning_rates[0] == std::pair<std::string, double>{"matrices", 0.5});
  CHECK(run.recorder.all[0].learning_rates[1] == std::pair<std::string, double>{"others", 0.05});
}

TEST_CASE("a clip on one group leaves the others alone") {
  plan::Plan plan = tiny_plan();
  plan::Group embedding, others;
  embedding.name = "embedding";
  embedding.predicate.kind = plan::Predicate::Kind::name_glob;
  embedding.predicate.glob = "embedding.*";
  others.name = "others";
  others.predicate.kind = plan::Predicate::Kind::others;
  plan.groups = {embedding, others};
  plan.update = {operation(OpKind::normalize), clip_norm(0.01, {"embedding"}), sgd(1),
                 operation(OpKind::zero_grad)};
  plan.stop = {reached(plan::Clock::updates, 1)};
  const auto data = sequences({2, 6, 1, 3});
  const int64_t split = kVocabulary * kWidth;
  TinyRun run(plan, data);
  run.run();
  const Reference at(run.parameters[0]);
  torch::Tensor gradient = at.gradient(at.mean_loss(data));
  const double all = gradient.norm().item<double>();
  const double norm = gradient.narrow(0, 0, split).norm().item<double>();
  gradient.narrow(0, 0, split).mul_(0.01 / norm);
  CHECK(distance(run.now(), run.parameters[0] - gradient) < kTolerance);
  CHECK(std::abs(*run.recorder.all[0].grad_norm - all) < kTolerance);
  CHECK(run.recorder.all[0].clipped);
}

TEST_CASE("frozen parameters stay, and are no part of the norm") {
  plan::Plan plan = tiny_plan();
  plan::Group frozen, others;
  frozen.name = "frozen";
  frozen.frozen = true;
  frozen.predicate.kind = plan::Predicate::Kind::name_glob;
  frozen.predicate.glob = "embedding.*";
  others.name = "others";
  others.predicate.kind = plan::Predicate::Kind::others;
  plan.groups = {frozen, others};
  plan.stop = {reached(plan::Clock::updates, 3)};
  TinyRun run(plan, sequences({2, 6, 1, 3}));
  const torch::Tensor embedding = run.parts.model->named_parameters()["embedding.weight"].clone();
  run.run();
  CHECK(torch::equal(embedding, run.parts.model->named_parameters()["embedding.weight"]));
  CHECK(run.now().numel() == kVocabulary * kWidth + kVocabulary);
  CHECK(run.trainer->clocks().updates == 3);
}

TEST_CASE("the logged loss does not depend on the split") {
  const Indices counts = {2, 6, 1, 3, 5, 4, 2, 7};
  std::vector<std::vector<double>> losses, norms;
  for (const int64_t micro : {1, 2, 4, 8}) {
    plan::Plan plan = tiny_plan();
    plan.data.micro_batch_samples = micro;
    plan.window.size.value = 8 / micro;
    plan.stop = {reached(plan::Clock::updates, 3)};
    TinyRun run(plan, sequences(counts));
    run.run();
    losses.emplace_back();
    norms.emplace_back();
    for (const auto& record : run.recorder.updates) {
      losses.back().push_back(*record.loss);
      norms.back().push_back(*record.grad_norm);
      CHECK(record.global_effective_tokens == 30);
      CHECK(record.local_effective_tokens == 30);
    }
    // Padding is not counted, but it is read.
    CHECK(run.recorder.updates[0].physical_tokens >= 38);
  }
  for (size_t i = 1; i < losses.size(); ++i) {
    for (size_t u = 0; u < 3; ++u) {
      CHECK(std::abs(losses[i][u] - losses[0][u]) < kTolerance);
      CHECK(std::abs(norms[i][u] - norms[0][u]) < kTolerance);
    }
  }
}

}  // namespace
}  // namespace loop::testing
