// Two ranks, each in a thread of its own, with models that no spec can name: a branch that not all of them
// take, another start on each of them.
#include <doctest/doctest.h>

#include <array>
#include <exception>
#include <functional>
#include <thread>

#include "designed_run.h"
#include "loop/error.h"
#include "runtime/distributed/process_group.h"
#include "runtime/engine/failure.h"

namespace loop::testing {
namespace {

using Ranks = std::shared_ptr<distributed::Communicator>;

/// Runs `work` as rank 0 and as rank 1, joined over the loopback interface. `host` must outlive both.
void as_two_ranks(const distributed::StoreHost& host, const std::function<void(const Ranks&)>& work) {
  std::array<std::exception_ptr, 2> failures;
  const auto one = [&](int64_t rank) {
    try {
      distributed::Launch launch;
      launch.rank = launch.local_rank = rank;
      launch.size = launch.local_size = 2;
      launch.master_address = "127.0.0.1";
      launch.master_port = host.port();
      launch.store_is_hosted = true;
      work(distributed::join(launch, {60'000, 60'000}, false));
    } catch (...) {
      failures[static_cast<size_t>(rank)] = std::current_exception();
    }
  };
  std::thread second(one, 1);
  one(0);
  second.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

thread_local double start_value = 0;  // of every parameter and buffer that a model of this thread begins with

/// trunk · x0, and + branch · x1 where a row has x1 ≠ 0: else the graph does not reach `branch`.
class Branching : public Model {
 public:
  Branching() {
    const auto begin = [] { return torch::full({1}, start_value, torch::kFloat64); };
    trunk_ = register_parameter("trunk", begin());
    branch_ = register_parameter("branch", begin());
    register_parameter("fixed", begin(), false);
    register_buffer("running", begin());
  }
  torch::Tensor forward(const Batch& batch) override {
    torch::Tensor sum = batch.inputs.select(1, 0) * trunk_;
    const torch::Tensor side = batch.inputs.select(1, 1);
    if (side.abs().sum().item<double>() != 0) sum = sum + side * branch_;
    return sum.unsqueeze(1);
  }

 private:
  torch::Tensor trunk_, branch_;
};

/// A plan of a model of this file, which is then known as `name`.
template <class OwnModel>
plan::Plan plan_of(const std::string& name) {
  static const bool once = [&name] {
    register_model(name, [](const plan::Component&, const DataInfo&) -> std::shared_ptr<Model> {
      return std::make_shared<OwnModel>();
    });
    return true;
  }();
  (void)once;
  plan::Plan plan = designed_plan();
  plan.model = {name, plan::json::object()};
  return plan;
}

plan::Plan branching_plan() {
  return plan_of<Branching>("test_branching");
}

/// A group for each of them, so that each has a bucket of its own.
std::vector<plan::Group> trunk_and_branch() {
  std::vector<plan::Group> groups(2);
  for (size_t i = 0; i < groups.size(); ++i) {
    groups[i].name = groups[i].predicate.glob = i == 0 ? "trunk" : "branch";
    groups[i].predicate.kind = plan::Predicate::Kind::name_glob;
  }
  return groups;
}

const gradients::Slot& slot(const TinyRun& run, const std::string& name) {
  for (const auto& group : run.parts.parameters->groups()) {
    for (const auto& one : group.slots) {
      if (one.name == name) return one;
    }
  }
  throw std::out_of_range(name);
}

TEST_CASE("B41: a branch that one rank takes is averaged over both, and a branch that none takes stays") {
  plan::Plan plan = branching_plan();
  plan.groups = trunk_and_branch();
  Operation rule = sgd(0.1, 0.9);
  for (auto& hyper : rule.rule.hyper) {
    if (hyper.name == "weight_decay") hyper.value = constant(0.1);
  }
  plan.update = {operation(OpKind::normalize), rule, operation(OpKind::zero_grad)};
  plan.stop = {reached(plan::Clock::updates, 3)};
  // Each window: a row for rank 0 and one for rank 1.
  const Rows rows = {{1, 2}, {3, 0}, {1, 0}, {3, 0}, {1, 0}, {0, 2}};
  plan.window.size.value = 2;
  auto whole = designed_run(plan, rows);
  whole->run();
  plan.window.size.value = 1;
  const distributed::StoreHost host;
  std::array<std::unique_ptr<TinyRun>, 2> runs;
  as_two_ranks(host, [&](const Ranks& ranks) {
    auto run = designed_run(plan, rows, {}, ranks);
    run->run();
    runs[static_cast<size_t>(ranks->rank())] = std::move(run);
  });
  for (const auto& run : runs) {
    REQUIRE(run->recorder.all.size() == 3);
    // one reduction for each of the two groups, and the counts
    for (const auto& record : run->recorder.all) CHECK(record.collectives == 3);
    CHECK(slot(*run, "trunk").step == 3);
    CHECK(slot(*run, "branch").step == 2);  // no update, momentum or decay where nobody reached it
    CHECK((run->now() - whole->now()).abs().max().item<double>() < 1e-12);
  }
  CHECK(torch::equal(runs[0]->now(), runs[1]->now()));
  // After the first window: `trunk` has the gradients 1 and 3, `branch` 2 and none, which is 1 on average.
  const torch::Tensor first = torch::tensor({-0.2, -0.1}, torch::kFloat64);
  CHECK((runs[0]->parameters[1] - first).abs().max().item<double>() < 1e-12);
}

TEST_CASE("B44, B98: ranks that begin with other weights train the ones of rank 0") {
  const Rows rows = {{1, 2}, {3, 1}, {2, 1}, {1, 4}};
  plan::Plan plan = branching_plan();
  plan.update[1] = sgd(0.01);
  plan.stop = {reached(plan::Clock::updates, 2)};
  plan.check_replicas_updates = 1;
  plan.window.size.value = 1;
  std::array<std::vector<double>, 2> begun, buffers;
  const distributed::StoreHost host;
  std::array<std::unique_ptr<TinyRun>, 2> runs;
  as_two_ranks(host, [&](const Ranks& ranks) {
    const auto rank = static_cast<size_t>(ranks->rank());
    start_value = rank == 0 ? 0.25 : 7;
    auto run = designed_run(plan, rows, {}, ranks);
    for (const auto& item : run->parts.model->named_parameters())
      begun[rank].push_back(item.value().item<double>());
    for (const torch::Tensor& buffer : run->parts.model->buffers())
      buffers[rank].push_back(buffer.item<double>());
    run->run();
    runs[rank] = std::move(run);
  });
  for (size_t rank = 0; rank < 2; ++rank) {
    CHECK(begun[rank] == std::vector<double>(3, 0.25));  // the frozen one too
    CHECK(buffers[rank] == std::vector<double>{0.25});
  }
  const torch::Tensor trained = runs[0]->now();
  CHECK(torch::equal(trained, runs[1]->now()));
  start_value = 0.25;
  plan.window.size.value = 2;
  auto whole = designed_run(plan, rows);
  whole->run();
  start_value = 0;
  CHECK((trained - whole->now()).abs().max().item<double>() < 1e-12);
  CHECK((trained - 0.25).abs().max().item<double>() > 1e-3);  // it did move
}

thread_local int passes_left = -1;  // until a model of this thread asks for more memory than there is

/// Asks LibTorch for a pebibyte in the forward pass after the ones that are left.
class Hungry : public Model {
 public:
  Hungry() : head_(register_module("head", torch::nn::Linear(2, 1))) {}
  torch::Tensor forward(const Batch& batch) override {
    if (passes_left-- == 0) return torch::empty({int64_t{1} << 50}, torch::kFloat64);
    return head_(batch.inputs);
  }

 private:
  torch::nn::Linear head_;
};

plan::Plan hungry_plan() {
  plan::Plan plan = plan_of<Hungry>("test_hungry");
  plan.stop = {reached(plan::Clock::updates, 5)};
  return plan;
}

TEST_CASE("running out of memory is said as such, with a repair") {
  for (const auto& error : std::initializer_list<std::exception_ptr>{
           std::make_exception_ptr(std::bad_alloc()),
           std::make_exception_ptr(c10::OutOfMemoryError({__func__, __FILE__, 1}, "CUDA out of memory"))}) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& thrown) {
      const auto told = engine::out_of_memory(thrown);
      REQUIRE(told);
      CHECK(told->kind() == ErrorKind::training);
      CHECK(std::string(told->what()) == "out of memory");
    }
  }
  CHECK_FALSE(engine::out_of_memory(std::runtime_error("no space left")));
  try {
    torch::empty({int64_t{1} << 50}, torch::kFloat64);
    FAIL("a pebibyte was given");
  } catch (const std::exception& thrown) {
    const auto told = engine::out_of_memory(thrown);
    REQUIRE(told);
    CHECK(std::string(told->what()) == "out of memory: 9007199254740992 bytes were asked for");
    CHECK(told->repair().find("micro_batch = auto") != std::string::npos);
  }
}

TEST_CASE("B88: one rank runs out of memory, and both end with its error") {
  const Rows rows = {{1, 2}, {3, 1}, {2, 1}, {1, 4}, {5, 2}, {2, 2}, {1, 1}, {3, 3}};
  const distributed::StoreHost host;
  std::array<std::string, 2> said;
  as_two_ranks(host, [&](const Ranks& ranks) {
    const auto rank = static_cast<size_t>(ranks->rank());
    passes_left = rank == 1 ? 3 : -1;
    try {
      designed_run(hungry_plan(), rows, {}, ranks)->run();
    } catch (const std::exception& error) {
      engine::tell_all(*ranks, error);
      const auto* known = dynamic_cast<const Error*>(&error);
      CHECK((known ? known->kind() : engine::out_of_memory(error)->kind()) == ErrorKind::training);
      said[rank] = engine::reason(error);
    }
  });
  CHECK(said[1].starts_with("out of memory: "));
  CHECK(said[0] == "rank 1: " + said[1]);
}

}  // namespace
}  // namespace loop::testing
