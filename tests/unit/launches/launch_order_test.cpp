// 64 ranks start the same collectives in the same order, whatever order their gradients arrive in, and those
// that `loopc plan --ranks 64` predicts.
#include <doctest/doctest.h>

#include <cstdlib>
#include <optional>
#include <set>

#include "compiler/kernels/compiled_rule.h"
#include "compiler/plan/prediction.h"
#include "fake_ranks.h"
#include "loop/model.h"
#include "runtime/gradients/slot_sizes.h"
#include "tests/support/standard_rules.h"
#include "tests/unit/engine/tiny_run.h"

namespace loop::testing {
namespace {

constexpr int64_t kRanks = 64;
constexpr int64_t kBranches = 6;

std::vector<std::string> arrivals;  // parameters, in the order in which backward passes reached them

/// Σ of branches, computed from the argument `first` on in a circle, so that backward completes their
/// gradients in another order; `without` names a branch that is left out. The first branch's weight is used
/// by the last one too.
class Branches : public Model {
 public:
  Branches(int64_t first, int64_t without)
      : first_(first),
        without_(without),
        embedding_(register_module("embedding", torch::nn::Embedding(kVocabulary, kWidth))) {
    for (int64_t b = 0; b < kBranches; ++b) {
      branches_.push_back(
          register_module("branch" + std::to_string(b), torch::nn::Linear(kWidth, kVocabulary)));
    }
    branches_.back()->weight = branches_.front()->weight;
    for (const auto& item : named_parameters()) {
      item.value().register_hook([name = item.key()](const torch::Tensor&) { arrivals.push_back(name); });
    }
  }
  torch::Tensor forward(const Batch& batch) override {
    const torch::Tensor hidden = torch::tanh(embedding_(batch.inputs));
    torch::Tensor sum;
    for (int64_t i = 0; i < kBranches; ++i) {
      const int64_t b = (first_ + i) % kBranches;
      if (b == without_) continue;
      const torch::Tensor one = branches_[static_cast<size_t>(b)](hidden);
      sum = sum.defined() ? sum + one : one;
    }
    return sum;
  }

 private:
  int64_t first_, without_;
  torch::nn::Embedding embedding_;
  std::vector<torch::nn::Linear> branches_;
};

void register_branches() {
  static const bool once = [] {
    register_model("test_branches",
                   [](const plan::Component& component, const DataInfo&) -> std::shared_ptr<Model> {
                     return std::make_shared<Branches>(component.args.at("first").get<int64_t>(),
                                                       component.args.at("without").get<int64_t>());
                   });
    return true;
  }();
  (void)once;
}

class BucketBytes {
 public:
  explicit BucketBytes(int64_t bytes) {
    setenv(plan::kBucketBytesVariable, std::to_string(bytes).c_str(), 1);
  }
  ~BucketBytes() { unsetenv(plan::kBucketBytesVariable); }
  BucketBytes(const BucketBytes&) = delete;
  BucketBytes& operator=(const BucketBytes&) = delete;
};

struct Trace {
  std::vector<std::string> arrivals;
  std::string ring;
  std::vector<distributed::CollectiveRecord> launches;
  std::vector<telemetry::UpdateRecord> updates;
  planner::Prediction predicted;
};

/// Two windows of the plan on rank `rank`, and what is predicted for one.
Trace trace(plan::Plan plan, int64_t rank, int64_t without, int64_t bucket_bytes) {
  register_branches();
  plan.model = {"test_branches", {{"first", rank % kBranches}, {"without", without}}};
  plan.data.micro_batch_samples = 1;
  plan.stop = {reached(plan::Clock::updates, 2)};
  const int64_t samples = 2 * kRanks * plan.window.size.value;
  engine::Sources sources;
  sources["train"] =
      std::make_unique<MemorySource>(sequences(std::vector<int64_t>(static_cast<size_t>(samples), 2)));
  const auto ranks = std::make_shared<FakeRanks>(rank, kRanks);
  engine::Parts parts =
      engine::assemble(completed(std::move(plan)), std::move(sources), ranks, kernels::rule_compiler());
  Recorder recorder;
  engine::Trainer trainer(parts, recorder);
  arrivals.clear();
  trainer.run([] { return false; });
  const planner::ModelSlots slots = {gradients::slot_sizes(parts.parameters->groups()),
                                     parts.parameters->trainable_elements()};
  return {arrivals, ranks->ring(), ranks->launches(), recorder.all,
          planner::predict(parts.plan, kRanks, slots, "", bucket_bytes)};
}

std::vector<int64_t> bucket_bytes(const Trace& one, const std::string& window) {
  std::vector<int64_t> bytes;
  for (const auto& record : one.launches) {
    const bool bucket = record.purpose.find(", gradient bucket") != std::string::npos;
    if (bucket && record.purpose.starts_with(window + ",")) bytes.push_back(record.bytes);
  }
  return bytes;
}

std::string whole(const Trace& one) {
  std::string text;
  for (const auto& record : one.launches) text += to_text(record) + "\n";
  return text;
}

void check_launches(const plan::Plan& plan, int64_t limit, size_t reductions) {
  const BucketBytes environment(limit);
  std::optional<Trace> first;
  std::set<std::vector<std::string>> orders;
  for (const int64_t rank : {0, 1, 5, 15, 31, 62, 63}) {
    CAPTURE(rank);
    // One rank never reaches the third branch.
    const Trace one = trace(plan, rank, rank == 31 ? 2 : -1, limit);
    orders.insert(one.arrivals);
    REQUIRE(one.updates.size() == 2);
    for (const telemetry::UpdateRecord& update : one.updates) {
      CHECK(update.collectives == one.predicted.collectives());
      CHECK(update.collective_bytes == one.predicted.reduced_bytes());
    }
    std::vector<int64_t> expected;
    for (size_t i = 0; i < reductions; ++i)
      expected.insert(expected.end(), one.predicted.bucket_bytes.begin(), one.predicted.bucket_bytes.end());
    CHECK(bucket_bytes(one, "window 1") == expected);
    CHECK(bucket_bytes(one, "window 2") == expected);
    if (!first) first = one;
    CHECK(one.ring == first->ring);
    CHECK(whole(one) == whole(*first));
  }
  CHECK(orders.size() >= 4);  // else the ranks' equal launches would say nothing
}

TEST_CASE("64 ranks launch alike: the window's last backward reduces") {
  plan::Plan plan = tiny_plan();
  plan.window.size.value = 3;
  plan.canonical_micro = true;
  for (const int64_t limit : {int64_t{1}, int64_t{200}, plan::kBucketBytes}) {
    CAPTURE(limit);
    check_launches(plan, limit, 1);
  }
}

TEST_CASE("64 ranks launch alike: every backward reduces, and counts are needed ahead") {
  plan::Plan plan = tiny_plan();
  plan.window.size.value = 3;
  plan.canonical_micro = true;
  plan.window.sync = plan::Sync::every;
  plan.micro = canonical_micro(plan::LossMode::normalized);
  for (plan::Operation& operation : plan.micro) operation.sync_on = plan::SyncOn::every;
  check_launches(plan, 200, 3);
}

TEST_CASE("64 ranks launch alike: gradients rounded to bf16") {
  plan::Plan plan = tiny_plan();
  plan.window.size.value = 2;
  plan.canonical_micro = true;
  plan.window.compress = plan::Compression::bf16;
  check_launches(plan, 200, 1);
}

TEST_CASE("64 ranks launch alike: `reduce` by hand") {
  plan::Plan plan = tiny_plan();
  plan.window.size.value = 2;
  plan.window.sync = plan::Sync::manual;
  plan.micro = {operation(OpKind::forward), loss(plan::LossMode::sum), operation(OpKind::backward)};
  plan.update.insert(plan.update.begin(), operation(OpKind::reduce));
  check_launches(plan, 200, 1);
}

}  // namespace
}  // namespace loop::testing
