// `micro_batch = auto`: the largest that fits, found by running; recorded, reused, and without an effect on
// the result.
#include "runtime/engine/micro_batch_choice.h"

#include <doctest/doctest.h>

#include <fstream>

#include "compiler/kernels/compiled_rule.h"
#include "loop/allocation_meter.h"
#include "loop/error.h"
#include "runtime/data/prefetch.h"
#include "runtime/engine/run.h"
#include "runtime/engine/step_memory.h"
#include "tests/support/error_of.h"
#include "tests/support/standard_rules.h"
#include "tests/support/temporary_folder.h"
#include "tiny_run.h"

namespace loop::testing {
namespace {

namespace fs = std::filesystem;

constexpr double kPlenty = 1e15;
const std::vector<int64_t> kLengths = {4, 1, 6, 2, 0, 5, 3, 3, 7, 2, 4, 1};

plan::Plan auto_plan(plan::WindowSize::Unit unit, int64_t size, double memory_bytes) {
  plan::Plan plan = tiny_plan();
  plan.data.micro_batch_samples = 0;
  plan.data.micro_batch_auto = true;
  plan.memory_bytes = memory_bytes;
  plan.window.size.unit = unit;
  plan.window.size.value = size;
  return completed(plan);
}

engine::Parts parts_of(const plan::Plan& plan, const std::vector<int64_t>& lengths = kLengths) {
  TinyRun run(
      [&] {
        plan::Plan decided = plan;
        decided.data.micro_batch_samples = 1;  // a trainer needs one
        return decided;
      }(),
      sequences(lengths));
  engine::Parts parts = std::move(run.parts);
  run.trainer.reset();
  parts.plan.data.micro_batch_samples = parts.former.micro_batch_samples = 0;
  return parts;
}

/// What a step with the `samples` longest samples takes.
int64_t step_bytes(const plan::Plan& plan, int64_t samples) {
  engine::Parts parts = parts_of(plan);
  return engine::StepMemory(parts).step_bytes(samples);
}

TEST_CASE("micro_batch = auto: the largest size that fits, and nothing beyond twice that is run") {
  for (int64_t most = 1; most <= 40; ++most) {
    for (int64_t answer = 0; answer <= most; ++answer) {
      int64_t largest_run = 0;
      const auto step = [&](int64_t samples) {
        largest_run = std::max(largest_run, samples);
        return 100 + 10 * samples;
      };
      const double budget = 100 + 10 * static_cast<double>(answer) + 5;
      const engine::LargestFit fit = engine::largest_fit(most, budget, step);
      CHECK(fit.chosen.samples == answer);
      CHECK(largest_run <= std::max<int64_t>(1, 2 * answer));
      CHECK(fit.larger.has_value() == (answer < most));
      if (fit.larger) CHECK(fit.larger->samples == answer + 1);
      if (answer > 0) CHECK(fit.chosen.step_bytes == 100 + 10 * answer);
    }
  }
}

TEST_CASE("micro_batch = auto: a step is measured, exactly and without a trace") {
  plan::Plan plan = auto_plan(plan::WindowSize::Unit::samples, 6, kPlenty);
  plan.averages = {{"slow", constant(0.9), false}};
  engine::Parts parts = parts_of(plan);
  const torch::Tensor before = parts.parameters->flat_parameters().clone();
  engine::StepMemory memory(parts);
  // Parameters, gradients and one average in FP64; plain SGD keeps no state beside its momentum.
  const int64_t table = kVocabulary * kWidth, elements = 2 * table + kVocabulary;
  CHECK(memory.resident_bytes() >= 3 * elements * 8);
  CHECK(memory.resident_bytes() <= 4 * elements * 8);
  const int64_t one = memory.step_bytes(1), three = memory.step_bytes(3), twelve = memory.step_bytes(12);
  CHECK(memory.resident_bytes() < one);
  CHECK(one < three);
  CHECK(three < twelve);
  CHECK(memory.step_bytes(3) == three);
  CHECK(memory.step_bytes(30) > twelve);  // a window of several epochs
  CHECK(parts.parameters->flat_parameters().equal(before));
  CHECK(parts.parameters->flat_gradient().eq(0).all().item<bool>());
}

TEST_CASE("micro_batch = auto: as the budget says, between one sample and the whole window") {
  const auto decided = [](plan::Plan plan, double budget) {
    plan.memory_bytes = budget;
    engine::Parts parts = parts_of(plan);
    const telemetry::MicroBatchChoice choice = engine::decide_micro_batch(parts);
    CHECK(parts.plan.data.micro_batch_samples == choice.samples);
    CHECK(parts.former.micro_batch_samples == choice.samples);
    return choice;
  };
  const plan::Plan plan = auto_plan(plan::WindowSize::Unit::samples, 6, kPlenty);
  const telemetry::MicroBatchChoice whole = decided(plan, kPlenty);
  CHECK(whole.samples == 6);
  CHECK(whole.micro_batches == 1);
  CHECK(whole.larger_step_bytes == 0);
  CHECK(whole.reason.find("6 samples in a micro-batch, 1 micro-batch in a window") == 0);
  CHECK(whole.reason.find("The window stays 6 samples, N of the first 18 tokens") != std::string::npos);
  const auto two = static_cast<double>(step_bytes(plan, 2)), three = static_cast<double>(step_bytes(plan, 3));
  for (const double budget : {two, three - 1}) {
    const telemetry::MicroBatchChoice choice = decided(plan, budget);
    CHECK(choice.samples == 2);
    CHECK(choice.micro_batches == 3);
    CHECK(choice.step_bytes == static_cast<int64_t>(two));
    CHECK(choice.larger_step_bytes == static_cast<int64_t>(three));
  }
  CHECK(decided(plan, three).samples == 3);
  // Two ranks share the window's samples.
  plan::Plan shared = plan;
  shared.ranks = 2;
  CHECK(decided(shared, kPlenty).samples == 3);
  // In tokens the largest window decides; here windows reach over the epoch's end.
  plan::Plan tokens = auto_plan(plan::WindowSize::Unit::tokens, 50, kPlenty);
  tokens.window.tail = plan::Tail::carry;
  CHECK(decided(tokens, kPlenty).samples > static_cast<int64_t>(kLengths.size()));
  CHECK(decided(tokens, three).samples == 3);
}

TEST_CASE("micro_batch = auto: what cannot be chosen is refused in plain words") {
  const auto refused = [](const plan::Plan& plan) {
    engine::Parts parts = parts_of(plan);
    return error_of([&] { engine::decide_micro_batch(parts); });
  };
  plan::Plan plan = auto_plan(plan::WindowSize::Unit::samples, 6, 1000);
  CHECK(refused(plan).find("with one sample in a micro-batch takes 1.0") != std::string::npos);
  CHECK(refused(plan).find("but `memory` is 1000 B | raise `memory`") != std::string::npos);
  plan.memory_bytes = 0;
  CHECK(refused(plan).find("no budget") != std::string::npos);
  CHECK(refused(auto_plan(plan::WindowSize::Unit::micro_batches, 2, kPlenty))
            .find("counted in micro-batches") != std::string::npos);
  plan = auto_plan(plan::WindowSize::Unit::samples, 6, kPlenty);
  plan.batch_norm = plan::BatchNorm::per_micro;
  CHECK(refused(plan).find("BatchNorm") != std::string::npos);
  plan.batch_norm.reset();
  plan.count_classes[0].unit = plan::CountUnit::micro_batch;
  CHECK(refused(plan).find("per micro_batch") != std::string::npos);
}

TEST_CASE("micro_batch = auto: the result of every fixed micro-batch, in samples and in tokens") {
  for (const auto& [unit, size] : {std::pair(plan::WindowSize::Unit::samples, int64_t{5}),
                                   std::pair(plan::WindowSize::Unit::tokens, int64_t{9})}) {
    plan::Plan plan = auto_plan(unit, size, kPlenty);
    plan.update = {operation(OpKind::normalize), clip_norm(0.3), adamw(0.05), operation(OpKind::zero_grad)};
    plan.stop = {reached(plan::Clock::updates, 6)};
    plan = completed(plan);
    plan.memory_bytes = static_cast<double>(step_bytes(plan, 2));
    engine::Parts parts = parts_of(plan);
    const int64_t chosen = engine::decide_micro_batch(parts).samples;
    CHECK(chosen == 2);
    const auto trained = [&](int64_t samples) {
      plan::Plan fixed = plan;
      fixed.data.micro_batch_samples = samples;
      TinyRun run(fixed, sequences(kLengths));
      run.run();
      return run.now();
    };
    const torch::Tensor expected = trained(chosen);
    for (const int64_t samples : {1, 3, 4, 12}) CHECK(distance(trained(samples), expected) < 1e-10);
  }
}

/// What a whole run holds at most: what is left of its making, and the peak of its training.
int64_t held_by_run(const plan::Plan& plan, const std::vector<int64_t>& lengths) {
  const AllocationMeter making;
  TinyRun run(plan, sequences(lengths));
  const int64_t made = making.held_bytes();
  const AllocationMeter training;
  run.trainer->run([] { return false; });
  return made + training.peak_bytes();
}

TEST_CASE("micro_batch = auto: a run holds no more than its budget, and needs it") {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < 400; ++i) lengths.push_back(1 + (i * 37) % 200);
  plan::Plan plan = auto_plan(plan::WindowSize::Unit::samples, 200, kPlenty);
  plan.window.tail = plan::Tail::flush;
  plan.update = {operation(OpKind::normalize), clip_norm(0.3), adamw(0.05), operation(OpKind::zero_grad)};
  plan.averages = {{"slow", constant(0.9), false}};
  plan.stop = {reached(plan::Clock::epochs, 2)};
  plan = completed(plan);
  const auto choose = [&](double budget) {
    plan.memory_bytes = budget;
    engine::Parts parts = parts_of(plan, lengths);
    return engine::decide_micro_batch(parts);
  };
  const int64_t whole = choose(kPlenty).step_bytes;
  int64_t before = 200;
  for (const double share : {0.9, 0.7, 0.5}) {
    const double budget = share * static_cast<double>(whole);
    const telemetry::MicroBatchChoice choice = choose(budget);
    CAPTURE(share);
    CAPTURE(choice.samples);
    CHECK(choice.samples < before);
    before = choice.samples;
    const auto held = [&](int64_t samples) {
      plan::Plan fixed = plan;
      fixed.data.micro_batch_samples = samples;
      return held_by_run(fixed, lengths);
    };
    const int64_t now = held(choice.samples);
    // Of the budget, at least this much is for batches that wait: another thread makes them, uncounted here.
    CHECK(static_cast<double>(now + data::Prefetcher::kLightBytes) <= budget);
    CHECK(now >= choice.step_bytes - 2 * data::Prefetcher::kLightBytes);
  }
}

/// Whole runs on a file.
struct Runs {
  TemporaryFolder folder;
  plan::Plan plan = auto_plan(plan::WindowSize::Unit::samples, 8, kPlenty);

  Runs() {
    std::string rows = "a,b,y\n";
    for (int i = 0; i < 30; ++i)
      rows += std::to_string(0.1 * i) + "," + std::to_string(i % 7) + "," + std::to_string(i % 3) + "\n";
    folder.write("data.csv", rows);
    plan.base_dir = folder.path();
    plan.model = {"mlp", {{"hidden", plan::json::array({8})}}};
    plan.data.sources = {{"train", {"csv", {{"path", "data.csv"}, {"target", "y"}, {"task", "regression"}}}}};
    plan.count_classes = {{plan::CountUnit::samples, 1, std::nullopt, std::nullopt}};
    plan.terms = {term("main", "mse")};
    plan.log.path = folder.path("runs");
    plan = completed(plan);
  }

  /// choice.json of the next run, and its first line of metrics.
  std::pair<plan::json, plan::json> next() {
    engine::RunOptions options;
    options.compile_rule = kernels::rule_compiler();
    options.progress = false;
    REQUIRE(engine::run(plan, options) == 0);
    const std::string name = ++number_ == 1 ? "runs" : "runs-" + std::to_string(number_);
    const auto choice = plan::json::parse(folder.text(name + "/choice.json"));
    const std::string metrics = folder.text(name + "/metrics.jsonl");
    return {choice, plan::json::parse(metrics.substr(0, metrics.find('\n')))};
  }

 private:
  int number_ = 0;
};

TEST_CASE("micro_batch = auto: recorded, and reused for the same model, data, budget and code") {
  Runs runs;
  const auto [first, start] = runs.next();
  CHECK(first["micro_batch_samples"] == 8);
  CHECK(first["micro_batches"] == 1);
  CHECK(first["taken_from"] == "");
  CHECK(first["window"] == "8 samples");
  CHECK(first["first_count"] == "8 samples");
  CHECK(start["micro_batch_samples"] == 8);
  CHECK(start["micro_batch_auto"]["step_bytes"] == first["step_bytes"]);
  CHECK(start["micro_batch_auto"]["reason"] == first["reason"]);
  // A record is believed, so one that says something else shows that nothing is measured.
  plan::json edited = first;
  edited["micro_batch_samples"] = 4;
  runs.folder.write("runs/choice.json", edited.dump());
  runs.plan.stop = {reached(plan::Clock::updates, 2)};  // no part of a step
  const auto [second, second_start] = runs.next();
  CHECK(second["micro_batch_samples"] == 4);
  CHECK(second["micro_batches"] == 2);
  CHECK(second["taken_from"] == runs.folder.path("runs/choice.json"));
  CHECK(second_start["micro_batch_samples"] == 4);
  // Another budget, other data, a damaged record: measured anew.
  runs.plan.memory_bytes = kPlenty / 2;
  CHECK(runs.next().first["micro_batch_samples"] == 8);
  runs.plan.memory_bytes = kPlenty;
  CHECK(runs.next().first["micro_batch_samples"] == 4);
  for (const char* run : {"runs", "runs-2", "runs-4"})
    runs.folder.write(std::string(run) + "/choice.json", "{");
  CHECK(runs.next().first["taken_from"] == "");
  runs.folder.write("data.csv", runs.folder.text("data.csv") + "1,2,3\n");
  const auto [longer, unused] = runs.next();
  CHECK(longer["taken_from"] == "");
  CHECK(longer["key"] != first["key"]);
}

}  // namespace
}  // namespace loop::testing
