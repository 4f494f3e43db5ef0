// loop::recompute and gpt(recompute: blocks): the plain model's values and gradients with less memory.
#include "loop/recompute.h"

#include <ATen/autocast_mode.h>
#include <doctest/doctest.h>

#include "loop/allocation_meter.h"
#include "loop/error.h"
#include "runtime/distributed/gradient_sync.h"

using namespace loop;
using torch::Tensor;

namespace {

enum class Keep { all, inputs };

/// Two layers with BatchNorm and dropout between them.
class Block : public torch::nn::Module {
 public:
  explicit Block(double dropout = 0.3)
      : first_(register_module("first", torch::nn::Linear(6, 6))),
        norm_(register_module("norm", torch::nn::BatchNorm1d(6))),
        second_(register_module("second", torch::nn::Linear(6, 6))),
        dropout_(dropout) {}
  Tensor forward(const Tensor& x) {
    ++runs;
    return torch::tanh(second_(torch::dropout(norm_(first_(x)), dropout_, is_training())));
  }
  int runs = 0;

 private:
  torch::nn::Linear first_;
  torch::nn::BatchNorm1d norm_;
  torch::nn::Linear second_;
  double dropout_;
};

/// A block that is used twice, and another one whose weights its head shares when `tied`.
class Net : public Model {
 public:
  explicit Net(Keep keep, bool tied = false)
      : keep_(keep),
        tied_(tied),
        twice_(register_module("twice", std::make_shared<Block>())),
        once_(register_module("once", std::make_shared<Block>())) {
    if (!tied_) head_ = register_module("head", torch::nn::Linear(6, 6));
  }
  Tensor forward(const Batch& batch) override {
    Tensor x = batch.inputs;
    for (const auto& block : {twice_, once_, twice_}) {
      x = keep_ == Keep::inputs ? recompute(block, x) : block->forward(x);
      x = torch::dropout(x, 0.1, is_training());  // draws between the blocks
    }
    if (tied_) return torch::linear(x, once_->named_parameters()["second.weight"]);
    return head_(x);
  }
  Block& once() { return *once_; }

 private:
  Keep keep_;
  bool tied_;
  std::shared_ptr<Block> twice_, once_;
  torch::nn::Linear head_ = nullptr;
};

double distance(const Tensor& a, const Tensor& b) {
  return ((a - b).norm() / b.norm()).item<double>();
}

Batch random_batch(uint64_t seed) {
  torch::manual_seed(seed);
  Batch batch;
  batch.inputs = torch::randn({5, 6}, torch::kFloat64);
  return batch;
}

template <class M, class... Arguments>
std::shared_ptr<M> seeded(Arguments... arguments) {
  torch::manual_seed(1);
  return std::make_shared<M>(arguments...);
}

std::shared_ptr<Model> gpt(bool recomputes, double dropout = 0, bool tied = false, int64_t layers = 3,
                           int64_t width = 16) {
  DataInfo info;
  info.vocabulary = info.classes = 13;
  info.context = 12;
  torch::manual_seed(2);
  return make_model({"gpt",
                     {{"layers", layers},
                      {"heads", 2},
                      {"width", width},
                      {"context", 12},
                      {"dropout", dropout},
                      {"tied", tied},
                      {"recompute", recomputes ? "blocks" : "none"}}},
                    info);
}

Batch random_tokens(uint64_t seed, int64_t rows = 3) {
  torch::manual_seed(seed);
  Batch batch;
  batch.inputs = torch::randint(13, {rows, 12}, torch::kInt64);
  return batch;
}

/// Keeps what it is given to reduce.
class Recorder : public distributed::Communicator {
 public:
  std::vector<Tensor> launched;
  int64_t rank() const override { return 0; }
  int64_t size() const override { return 2; }
  std::string backend() const override { return "test"; }
  std::unique_ptr<distributed::Pending> all_reduce(Tensor tensor, distributed::Reduction,
                                                   const std::string&) override {
    struct Done : distributed::Pending {
      void wait() override {}
    };
    launched.push_back(tensor.clone());
    return std::make_unique<Done>();
  }
  void broadcast(Tensor, const std::string&) override {}
  void training_begins() override {}
  void announce(const Error&) noexcept override {}
  distributed::CollectiveLog::Totals traffic() const override { return {}; }
};

}  // namespace

TEST_CASE("recompute: values, gradients, random numbers and buffers are those of one run") {
  for (const bool tied : {false, true}) {
    const auto plain = seeded<Net>(Keep::all, tied), recomputed = seeded<Net>(Keep::inputs, tied);
    gradients::Parameters theirs(plain, {}, torch::kFloat64), ours(recomputed, {}, torch::kFloat64);
    const auto step = [](Model& model, uint64_t seed) {
      const Batch batch = random_batch(seed);
      const Tensor loss = model.forward(batch).square().sum();
      loss.backward();
      // What is drawn next shows the generator's state.
      return std::pair(loss.item<double>(), torch::rand({1}).item<double>());
    };
    for (const uint64_t seed : {11, 12, 13}) CHECK((step(*plain, seed) == step(*recomputed, seed)));
    CHECK(distance(ours.flat_gradient(), theirs.flat_gradient()) < 1e-12);
    for (const auto& item : plain->named_buffers()) {
      CAPTURE(item.key());
      CHECK(recomputed->named_buffers()[item.key()].equal(item.value()));
    }
    CHECK(plain->once().runs == 3);
    CHECK(recomputed->once().runs == 6);
    ours.check_storage();
  }
}

TEST_CASE("recompute: evaluation mode between forward and backward changes nothing") {
  const auto plain = seeded<Net>(Keep::all), recomputed = seeded<Net>(Keep::inputs);
  gradients::Parameters theirs(plain, {}, torch::kFloat64), ours(recomputed, {}, torch::kFloat64);
  for (const auto& model : {plain, recomputed}) {
    const Tensor loss = model->forward(random_batch(4)).square().sum();
    model->eval();
    loss.backward();
    CHECK_FALSE(model->once().is_training());
    for (const auto& module : model->modules()) CHECK_FALSE(module->is_training());
  }
  CHECK(distance(ours.flat_gradient(), theirs.flat_gradient()) < 1e-12);
}

TEST_CASE("recompute: without gradients, and with a frozen block") {
  const auto model = seeded<Net>(Keep::inputs);
  model->to(torch::kFloat64);
  {
    const torch::NoGradGuard no_grad;
    CHECK_FALSE(model->forward(random_batch(1)).requires_grad());
    CHECK(model->once().runs == 1);
  }
  const auto plain = seeded<Net>(Keep::all);
  plain->to(torch::kFloat64);
  for (const auto& one : {plain, model})
    for (Tensor& parameter : one->once().parameters()) parameter.set_requires_grad(false);
  for (const auto& one : {plain, model}) one->forward(random_batch(2)).square().sum().backward();
  for (const auto& item : plain->named_parameters()) {
    CAPTURE(item.key());
    const Tensor& expected = item.value().grad();
    const Tensor& found = model->named_parameters()[item.key()].grad();
    REQUIRE(found.defined() == expected.defined());
    if (expected.defined()) CHECK(distance(found, expected) < 1e-12);
  }
}

TEST_CASE("recompute: a second derivative is refused in plain words") {
  const auto block = seeded<Block>();
  block->to(torch::kFloat64);
  const Tensor x = random_batch(1).inputs.set_requires_grad(true);
  CHECK_THROWS_WITH_AS(
      torch::autograd::grad({recompute(block, x).sum()}, {x}, {}, std::nullopt, /*create_graph=*/true),
      "a recomputed block can be differentiated only once", Error);
}

TEST_CASE("recompute: autocast is on again in the second run, and its cache is left alone") {
  const auto run = [](Keep keep) {
    auto block =
        std::make_shared<torch::nn::SequentialImpl>(torch::nn::Linear(8, 8), torch::nn::Linear(8, 8));
    torch::manual_seed(1);
    for (Tensor& parameter : block->parameters()) parameter.detach().normal_();
    const Tensor x = torch::randn({4, 8}).set_requires_grad(true);
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::increment_nesting();
    const auto forward = [&](const Tensor& input) { return block->forward(input); };
    const Tensor out = keep == Keep::all ? forward(x) : recompute(block, forward, x);
    CHECK((out.scalar_type() == at::kBFloat16));
    // The same weights outside: they must find their way back to the parameters.
    const Tensor outside = torch::linear(x, block->parameters()[0]).sum();
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
    (out.to(at::kFloat).sum() + outside.to(at::kFloat)).backward();
    std::vector<Tensor> gradients = {x.grad()};
    for (const Tensor& parameter : block->parameters()) gradients.push_back(parameter.grad());
    CHECK_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
    return gradients;
  };
  const std::vector<Tensor> expected = run(Keep::all), found = run(Keep::inputs);
  for (size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i].allclose(expected[i], 1e-2, 1e-2));  // one sum is rounded to bf16 in another place
  }
}

TEST_CASE("gpt(recompute: blocks): the plain model's gradient, dropout and tied head included") {
  for (const double dropout : {0.0, 0.4}) {
    for (const bool tied : {false, true}) {
      CAPTURE(dropout);
      const auto plain = gpt(false, dropout, tied), recomputed = gpt(true, dropout, tied);
      gradients::Parameters theirs(plain, {}, torch::kFloat64), ours(recomputed, {}, torch::kFloat64);
      for (const auto& model : {plain, recomputed})
        for (const uint64_t seed : {5, 6}) model->forward(random_tokens(seed)).square().sum().backward();
      CHECK(distance(ours.flat_gradient(), theirs.flat_gradient()) < 1e-12);
      Batch none;
      none.inputs = torch::zeros({0, 12}, torch::kInt64);
      recomputed->forward(none).sum().backward();
    }
  }
}

TEST_CASE("gpt(recompute: blocks): less memory") {
  const auto peak = [](bool recomputes, int64_t layers) {
    const auto model = gpt(recomputes, 0.1, false, layers, 32);
    const gradients::Parameters parameters(model, {}, torch::kFloat32);
    const Batch batch = random_tokens(3, 16);
    const AllocationMeter meter;
    model->forward(batch).square().sum().backward();
    return meter.peak_bytes();
  };
  const int64_t kept = peak(false, 8), recomputed = peak(true, 8);
  CHECK(recomputed < kept / 3);
  CHECK(peak(true, 8) == recomputed);  // counted, not looked at
  // A further block costs its input instead of all that lies inside.
  const int64_t input_bytes = 16 * 12 * 32 * 4;
  CHECK(peak(true, 9) - recomputed < 3 * input_bytes);
  CHECK(peak(false, 9) - kept > 10 * input_bytes);
}

TEST_CASE("recompute: a bucket is reduced when all uses of its parameters are in it") {
  const auto plain = seeded<Net>(Keep::all, true), recomputed = seeded<Net>(Keep::inputs, true);
  gradients::Parameters theirs(plain, {}, torch::kFloat64), ours(recomputed, {}, torch::kFloat64);
  Recorder ranks;
  distributed::GradientSync sync(ours, ranks, /*bucket_bytes=*/8);
  plain->forward(random_batch(1)).square().sum().backward();
  const Tensor loss = recomputed->forward(random_batch(1)).square().sum();
  sync.begin("window 1");
  loss.backward();
  CHECK(ranks.launched.size() == theirs.groups()[0].slots.size());  // within backward
  sync.launch_rest();
  sync.wait();
  // One bucket per parameter, launched from the last to the first.
  const auto& slots = theirs.groups()[0].slots;
  REQUIRE(ranks.launched.size() == slots.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    const Tensor expected = slots[slots.size() - 1 - i].parameter.grad().flatten();
    CAPTURE(slots[slots.size() - 1 - i].name);
    CHECK((ranks.launched[i] - expected).norm().item<double>() < 1e-12);
  }
}
