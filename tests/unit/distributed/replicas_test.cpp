// Replicas that differ are found, by rank and tensor; buffers are averaged.
#include "runtime/distributed/replicas.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

namespace loop::distributed {
namespace {

class Done : public Pending {
 public:
  void wait() override {}
};

/// Rank 0 of two; the other's contribution to a reduction is what the test says.
class Pair : public Communicator {
 public:
  explicit Pair(std::function<torch::Tensor(const torch::Tensor&)> other) : other_(std::move(other)) {}
  int64_t rank() const override { return 0; }
  int64_t size() const override { return 2; }
  std::string backend() const override { return "test"; }
  std::unique_ptr<Pending> all_reduce(torch::Tensor tensor, Reduction how, const std::string&) override {
    const torch::Tensor other = other_(tensor);
    tensor.copy_(how == Reduction::sum ? tensor + other : torch::maximum(tensor, other));
    return std::make_unique<Done>();
  }
  void broadcast(torch::Tensor, const std::string&) override {}
  void training_begins() override {}
  void announce(const Error&) noexcept override {}
  CollectiveLog::Totals traffic() const override { return {}; }

 private:
  std::function<torch::Tensor(const torch::Tensor&)> other_;
};

/// Rank 1 of two, which gets from broadcasts what the test says rank 0 holds.
class Follower : public Pair {
 public:
  explicit Follower(std::vector<torch::Tensor> first)
      : Pair([](const torch::Tensor& sent) { return torch::zeros_like(sent); }), first_(std::move(first)) {}
  int64_t rank() const override { return 1; }
  void broadcast(torch::Tensor tensor, const std::string& purpose) override {
    CHECK(tensor.is_contiguous());
    CHECK(purpose.starts_with("start: "));
    tensor.copy_(first_.at(next_++));
  }
  size_t received() const { return next_; }

 private:
  std::vector<torch::Tensor> first_;
  size_t next_ = 0;
};

/// What rank 0 sends about `tensors`: its row of checksums.
torch::Tensor checksums(const std::vector<NamedTensor>& tensors) {
  torch::Tensor row;
  Pair recorder([&](const torch::Tensor& sent) {
    row = sent[0].clone();
    torch::Tensor other = torch::zeros_like(sent);
    other[1].copy_(sent[0]);
    return other;
  });
  check_replicas(recorder, tensors, 0);
  return row;
}

std::vector<NamedTensor> model() {
  return {{"weight", torch::arange(12, torch::kFloat32).view({3, 4})},
          {"bias", torch::ones({3}, torch::kFloat64)}};
}

/// What check_replicas says when the other rank holds `theirs`; empty when it finds nothing.
std::string verdict(const std::vector<NamedTensor>& theirs) {
  const torch::Tensor row = checksums(theirs);
  Pair ranks([&](const torch::Tensor& sent) {
    torch::Tensor other = torch::zeros_like(sent);
    other[1].copy_(row);
    return other;
  });
  try {
    check_replicas(ranks, model(), 7);
    return "";
  } catch (const Error& error) {
    CHECK(error.exit_code() == 5);
    return error.what();
  }
}

TEST_CASE("equal replicas pass, also when their memory lies differently") {
  CHECK(verdict(model()).empty());
  std::vector<NamedTensor> transposed = model();
  transposed[0].tensor = transposed[0].tensor.t().contiguous().t();
  CHECK(verdict(transposed).empty());
}

TEST_CASE("one changed bit of one element names the rank and the tensor") {
  std::vector<NamedTensor> changed = model();
  changed[1].tensor[2] = std::nextafter(1.0, 2.0);
  const std::string text = verdict(changed);
  CHECK(text.find("after 7 updates bias of rank 1 is not that of rank 0") != std::string::npos);
}

TEST_CASE("two elements that changed places are found") {
  std::vector<NamedTensor> swapped = model();
  swapped[0].tensor = swapped[0].tensor.flip(0);
  CHECK(verdict(swapped).find("weight of rank 1") != std::string::npos);
}

TEST_CASE("parameters and buffers of different seeds become rank 0's, however their memory lies") {
  torch::manual_seed(1);
  const torch::Tensor weight = torch::randn({3, 4}), statistics = torch::rand({4}, torch::kFloat64),
                      steps = torch::tensor(int64_t{7});
  torch::manual_seed(2);
  torch::Tensor own_weight = torch::randn({4, 3}).t().set_requires_grad(true);
  torch::Tensor own_statistics = torch::rand({8}, torch::kFloat64).slice(0, 0, 8, 2),
                own_steps = torch::tensor(int64_t{0}), nothing = torch::empty({0});
  const void* memory = own_weight.data_ptr();
  REQUIRE(!torch::equal(own_weight, weight));
  Follower ranks({weight, statistics, steps});
  share_from_first(ranks, {{"weight", own_weight},
                           {"nothing", nothing},
                           {"running_mean", own_statistics},
                           {"num_batches_tracked", own_steps}});
  CHECK(ranks.received() == 3);
  CHECK(torch::equal(own_weight, weight));
  CHECK(torch::equal(own_statistics, statistics));
  CHECK(own_steps.item<int64_t>() == 7);
  CHECK(own_weight.data_ptr() == memory);  // written in place: arenas and optimizers hold on to it
  CHECK(own_weight.requires_grad());
}

TEST_CASE("floating-point buffers become the mean over ranks, counters the maximum") {
  torch::Tensor mean = torch::tensor({1.0, 3.0}), steps = torch::tensor(int64_t{4});
  Pair ranks([](const torch::Tensor& sent) {
    return sent.is_floating_point() ? torch::tensor({3.0, 5.0}, sent.options()) : torch::full_like(sent, 9);
  });
  average_buffers(ranks, {mean, steps});
  CHECK(torch::equal(mean, torch::tensor({2.0, 4.0})));
  CHECK(steps.item<int64_t>() == 9);
}

}  // namespace
}  // namespace loop::distributed
