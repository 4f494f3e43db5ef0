// Whole runs: evaluation, averages, determinism, interruption, the files a run leaves.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "compiler/kernels/compiled_rule.h"
#include "designed_run.h"
#include "loop/error.h"
#include "runtime/engine/facts.h"
#include "runtime/engine/run.h"
#include "tests/support/standard_rules.h"

namespace loop::testing {
namespace {

namespace fs = std::filesystem;
constexpr double kTolerance = 1e-10;

plan::Evaluation evaluation(const std::string& with = "model") {
  plan::Evaluation result;
  result.name = "held_out";
  result.source = "valid";
  result.every = {{plan::Clock::updates, 2}};
  result.metrics = {"loss", "perplexity", "accuracy"};
  result.at_start = true;
  result.at_end = true;
  result.with = with;
  return result;
}

plan::Plan random_plan() {
  plan::Plan plan = tiny_plan();
  plan.model.args["dropout"] = 0.4;
  plan.data.order = plan::Order::shuffled;
  plan.data.sources.push_back({"valid", {"memory", plan::json::object()}});
  plan.stop = {reached(plan::Clock::updates, 5)};
  return plan;
}

const auto kTrain = sequences({2, 6, 1, 3, 0, 4, 2, 5, 3}, 3);
const auto kValid = sequences({4, 0, 2, 5, 1}, 9);

TEST_CASE("the same seed gives the same parameters, bit for bit; another seed does not") {
  TinyRun a(random_plan(), kTrain, {{"valid", kValid}}), b(random_plan(), kTrain, {{"valid", kValid}});
  CHECK(torch::equal(a.now(), b.now()));
  a.run();
  b.run();
  CHECK(torch::equal(a.now(), b.now()));
  plan::Plan other = random_plan();
  other.seed = 8;
  TinyRun c(other, kTrain, {{"valid", kValid}});
  CHECK_FALSE(torch::equal(a.parameters[0], c.now()));
}

TEST_CASE("evaluations leave training as it was, bit for bit") {
  TinyRun without(random_plan(), kTrain, {{"valid", kValid}});
  without.run();
  plan::Plan plan = random_plan();
  plan.averages = {{"slow", constant(0.7), true}};
  plan.evaluations = {evaluation(), evaluation("slow")};
  TinyRun with(plan, kTrain, {{"valid", kValid}});
  with.run();
  CHECK(torch::equal(without.now(), with.now()));
  CHECK(torch::equal(without.gradients.back(), with.gradients.back()));
  // at the start, after 2 and 4 updates, and at the end: for each of the two
  REQUIRE(with.recorder.evaluations.size() == 8);
  CHECK(with.recorder.evaluations[0].optimizer_step == 0);
  CHECK(with.recorder.evaluations[7].optimizer_step == 5);
  CHECK(with.trainer->clocks().evaluations == 8);
}

TEST_CASE("held-out metrics are sums over counts of their own") {
  plan::Plan plan = tiny_plan();
  plan.terms.push_back(term("z", "z_loss", 0.25, 1));
  plan.count_classes.push_back({plan::CountUnit::samples, 1, std::nullopt, std::nullopt});
  plan.micro = canonical_micro(plan::LossMode::normalized);
  plan.update = {sgd(0.5), operation(OpKind::zero_grad)};
  plan.data.sources.push_back({"valid", {"memory", plan::json::object()}});
  plan.evaluations = {evaluation()};
  plan.stop = {reached(plan::Clock::updates, 1)};
  TinyRun run(plan, kTrain, {{"valid", kValid}});
  run.run();
  const auto& record = run.recorder.evaluations[0];
  const Reference at(run.parameters[0]);
  const auto [logits, targets] = at.counted_logits(kValid);
  const double mean = at.mean_loss(kValid).item<double>();
  const double z =
      torch::logsumexp(logits, 1).square().sum().item<double>() / 4;  // four samples have targets
  REQUIRE(record.metrics.size() == 3);
  CHECK(std::abs(record.metrics[0].second - (mean + 0.25 * z)) < kTolerance);
  CHECK(std::abs(record.metrics[1].second - std::exp(mean)) < kTolerance);
  const double right = logits.argmax(1).eq(targets).sum().item<double>();
  CHECK(std::abs(record.metrics[2].second - right / 12) < kTolerance);
  CHECK(record.counted == 12);
  CHECK(record.samples == 5);
  CHECK(record.micro_batches == 3);

  plan.evaluations[0].limit_micro_batches = 1;
  TinyRun limited(plan, kTrain, {{"valid", kValid}});
  limited.run();
  CHECK(limited.recorder.evaluations[0].samples == 2);
  plan.evaluations[0].metrics = {"bleu"};
  CHECK_THROWS_AS(TinyRun(plan, kTrain, {{"valid", kValid}}), Error);
}

TEST_CASE("an average follows applied updates, and is evaluated in place of the model") {
  plan::Plan plan = tiny_plan();
  plan.averages = {{"slow", constant(0.75), false}};
  plan.data.sources.push_back({"valid", {"memory", plan::json::object()}});
  plan.evaluations = {evaluation("slow")};
  TinyRun run(plan, kTrain, {{"valid", kValid}});
  run.run();
  torch::Tensor expected = run.parameters[0];
  for (size_t u = 1; u < run.parameters.size(); ++u) expected = 0.75 * expected + 0.25 * run.parameters[u];
  const torch::Tensor model = run.now();
  {
    const engine::Averages::Swap swap(run.trainer->averages(), "slow");
    CHECK(distance(run.now(), expected) < kTolerance);
  }
  CHECK(torch::equal(run.now(), model));
  const Reference at(expected);
  CHECK(std::abs(run.recorder.evaluations.back().metrics[0].second - at.mean_loss(kValid).item<double>()) <
        kTolerance);
}

TEST_CASE("what a plan ticks and averages itself does not happen a second time") {
  plan::Plan plan = tiny_plan();
  plan.averages = {{"slow", constant(0.5), false}};
  Operation tick = operation(OpKind::tick), average = operation(OpKind::average);
  tick.target = "updates";
  average.target = "slow";
  plan.update.push_back(average);
  plan.update.push_back(tick);
  TinyRun written(plan, kTrain);
  written.run();
  CHECK(written.trainer->clocks().updates == 4);
  plan.update.resize(plan.update.size() - 2);
  TinyRun automatic(plan, kTrain);
  automatic.run();
  const engine::Averages::Swap one(written.trainer->averages(), "slow");
  const engine::Averages::Swap two(automatic.trainer->averages(), "slow");
  CHECK(torch::equal(written.now(), automatic.now()));
}

TEST_CASE("guards read clocks, the place in the window and the verdict") {
  plan::Plan plan = designed_plan();
  plan.window.size.value = 4;
  plan.stop = {reached(plan::Clock::updates, 2)};
  // Only the last micro-batch learns in the first window, all do afterwards; the step is skipped by nothing.
  const Expression later = Expression::apply(">=", {clock("updates"), constant(1)});
  plan.micro = {operation(OpKind::forward), loss(plan::LossMode::sum),
                when(Expression::apply("or", {clock("last"), later}), {operation(OpKind::backward)})};
  plan.update = {operation(OpKind::unscale), operation(OpKind::normalize), when(clock("finite"), {sgd(1)}),
                 operation(OpKind::zero_grad)};
  auto run = designed_run(plan, {{1}, {2}, {3}, {6}});
  run->run();
  CHECK(run->gradients[0].item<double>() == 6);
  CHECK(std::abs(run->parameters[1].item<double>() + 1.5) < kTolerance);
}

TEST_CASE("counts in a loss that is normalised ahead follow the guards, too") {
  plan::Plan plan = tiny_plan();
  plan.data.micro_batch_samples = 1;
  plan.micro = {when(clock("first"), {operation(OpKind::forward), loss(plan::LossMode::normalized),
                                      operation(OpKind::backward)})};
  plan.update = {sgd(0.5), operation(OpKind::zero_grad)};
  plan.stop = {reached(plan::Clock::updates, 1)};
  const auto data = sequences({2, 6});
  TinyRun run(plan, data);
  run.run();
  const Reference at(run.parameters[0]);
  CHECK(distance(run.now(), at.flat() - 0.5 * at.gradient(at.mean_loss({data[0]}))) < kTolerance);
}

TEST_CASE("horizon needs a bound that can be counted") {
  plan::Plan plan = tiny_plan();
  plan.update[1] = sgd(Expression::apply("/", {constant(1), clock("horizon")}));
  plan.stop = {reached(plan::Clock::seconds, 10)};
  CHECK_THROWS_AS(TinyRun(plan, kTrain), Error);
  plan.stop.push_back(reached(plan::Clock::updates, 2));
  TinyRun(plan, kTrain).run();
}

TEST_CASE("a run stops when held-out data gets no better") {
  plan::Plan plan = tiny_plan();
  plan.data.sources.push_back({"valid", {"memory", plan::json::object()}});
  plan.evaluations = {evaluation()};
  plan.update[1] = sgd(0.0);  // nothing ever gets better
  plan::StopCondition no_better;
  no_better.kind = plan::StopCondition::Kind::no_better;
  no_better.metric = "held_out.loss";
  no_better.patience_evaluations = 3;
  plan.stop = {no_better, reached(plan::Clock::updates, 1000)};
  TinyRun run(plan, kTrain, {{"valid", kValid}});
  const engine::Ending ending = run.run();
  CHECK(ending.reason == "held_out.loss was no better for 3 evaluations");
  CHECK(run.trainer->clocks().updates == 6);
  plan.stop[0].metric = "elsewhere.loss";
  CHECK_THROWS_AS(TinyRun(plan, kTrain, {{"valid", kValid}}), Error);
}

TEST_CASE("log.every decides the lines; the first and the last update are always among them") {
  plan::Plan plan = tiny_plan();
  plan.stop = {reached(plan::Clock::updates, 8)};
  plan.log.every = {{plan::Clock::updates, 3}};
  TinyRun run(plan, kTrain);
  run.run();
  std::vector<int64_t> lines;
  for (const auto& record : run.recorder.updates) lines.push_back(record.optimizer_step);
  CHECK(lines == std::vector<int64_t>{1, 3, 6, 8});
}

TEST_CASE("an interrupted run finishes its window") {
  plan::Plan plan = tiny_plan();
  plan.stop = {reached(plan::Clock::updates, 1000)};
  TinyRun run(plan, kTrain);
  int windows = 0;
  const engine::Ending ending = run.run([&] { return ++windows > 3; });
  CHECK(ending.interrupted);
  CHECK(run.trainer->clocks().updates == 3);
  CHECK(run.recorder.updates.back().optimizer_step == 3);
}

/// An independent reader: header and bytes.
struct Safetensors {
  plan::json header;
  std::string bytes;
  explicit Safetensors(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    uint64_t length = 0;
    for (int i = 7; i >= 0; --i)
      length = length << 8U | static_cast<unsigned char>(text.at(static_cast<size_t>(i)));
    header = plan::json::parse(text.substr(8, length));
    bytes = text.substr(8 + length);
    CHECK((8 + length) % 8 == 0);
  }
  std::vector<double> doubles(const std::string& name) const {
    const auto offsets = header.at(name).at("data_offsets");
    const size_t begin = offsets[0], end = offsets[1];
    std::vector<double> values((end - begin) / sizeof(double));
    std::memcpy(values.data(), bytes.data() + begin, end - begin);
    return values;
  }
};

struct Folder {
  fs::path path = fs::temp_directory_path() / ("loop_run_test_" + std::to_string(getpid()));
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
};

std::vector<plan::json> events(const fs::path& file) {
  std::ifstream in(file);
  std::vector<plan::json> result;
  for (std::string line; std::getline(in, line);) result.push_back(plan::json::parse(line));
  return result;
}

/// A real model on a real file.
plan::Plan csv_plan(const Folder& folder) {
  std::ofstream out(folder.path / "data.csv");
  out << "a,b,y\n";
  for (int i = 0; i < 50; ++i)
    out << 0.1 * i - 2 << ',' << std::cos(i) << ',' << (i % 3 == 0 ? 1 : 0) << '\n';
  out.close();
  plan::Plan plan = tiny_plan();
  plan.base_dir = folder.path.string();
  plan.model = {"mlp", {{"hidden", plan::json::array({8})}}};
  plan.data.sources = {{"train", {"csv", {{"path", "data.csv"}, {"target", "y"}, {"task", "regression"}}}}};
  plan.count_classes = {{plan::CountUnit::samples, 1, std::nullopt, std::nullopt}};
  plan.terms = {term("main", "mse")};
  plan.averages = {{"slow", constant(0.9), false}};
  plan.log.path = (folder.path / "runs").string();
  plan.resolved_spec = "loop tiny { }\n";
  return completed(plan);
}

TEST_CASE("what a run leaves behind") {
  const Folder folder;
  const plan::Plan plan = csv_plan(folder);
  engine::RunOptions options;
  options.compile_rule = kernels::rule_compiler();
  options.progress = false;
  CHECK(engine::run(plan, options) == 0);
  const fs::path runs = folder.path / "runs";
  const auto lines = events(runs / "metrics.jsonl");
  REQUIRE(lines.size() == 6);
  CHECK(lines.front()["event"] == "start");
  CHECK(lines.front()["planned_updates"] == 4);
  CHECK(lines[4]["optimizer_step"] == 4);
  CHECK(lines.back()["event"] == "end");
  CHECK(lines.back()["status"] == "done");
  CHECK(lines.back()["reason"] == "4 updates");
  for (const char* file : {"plan.json", "spec.loop", "model.safetensors", "model.slow.safetensors"}) {
    CAPTURE(file);
    CHECK(fs::exists(runs / file));
  }
  for (const auto& entry : fs::directory_iterator(runs))
    CHECK(entry.path().string().find(".tmp") == std::string::npos);

  // The same run again, in memory: the file holds its parameters, bit for bit.
  engine::Parts parts =
      engine::assemble(plan, engine::make_sources(plan, {}), distributed::alone(), kernels::rule_compiler());
  telemetry::Sinks sinks;
  engine::Trainer trainer(parts, sinks);
  trainer.run([] { return false; });
  const Safetensors saved(runs / "model.safetensors");
  CHECK(saved.header.at("__metadata__").at("format") == "pt");
  size_t bytes = 0;
  for (const auto& item : parts.model->named_parameters()) {
    CAPTURE(item.key());
    const torch::Tensor tensor = item.value().contiguous();
    const std::vector<double> values = saved.doubles(item.key());
    REQUIRE(values.size() == static_cast<size_t>(tensor.numel()));
    CHECK(std::memcmp(values.data(), tensor.data_ptr(), values.size() * sizeof(double)) == 0);
    CHECK(saved.header.at(item.key()).at("dtype") == "F64");
    CHECK(saved.header.at(item.key()).at("shape") == plan::json(tensor.sizes().vec()));
    bytes += values.size() * sizeof(double);
  }
  CHECK(saved.bytes.size() == bytes);

  CHECK(engine::run(plan, options) == 0);  // beside it, not over it
  CHECK(fs::exists(folder.path / "runs-2" / "metrics.jsonl"));
  const auto facts = engine::facts(plan, {});
  CHECK(facts["train_samples"] == 50);
  CHECK(facts["tokens_per_epoch"] == 50);
  CHECK(facts["micro_batches_per_epoch"] == 25);
  CHECK(facts["updates_per_epoch"] == 13);
  CHECK(facts["lost_samples_per_epoch"] == 0);
  CHECK(facts["planned_updates"] == 4);
  CHECK(facts["parameters"] == 2 * 8 + 8 + 8 + 1);
}

TEST_CASE("one class per sample is one counted unit") {
  const Folder folder;
  plan::Plan plan = csv_plan(folder);
  plan.data.sources[0].component.args["task"] = "classification";
  plan.terms = {term("main", "cross_entropy")};
  for (const plan::CountUnit unit : {plan::CountUnit::samples, plan::CountUnit::tokens}) {
    plan.count_classes[0].unit = unit;
    engine::Parts parts = engine::assemble(plan, engine::make_sources(plan, {}), distributed::alone(),
                                           kernels::rule_compiler());
    Recorder recorder;
    engine::Trainer trainer(parts, recorder);
    trainer.run([] { return false; });
    CHECK(recorder.updates[0].global_effective_tokens == 4);
    CHECK(std::abs(*recorder.updates[0].loss - std::log(2.0)) < 0.5);
  }
}

TEST_CASE("a failed run says so in its files; an interrupted one exits with 130") {
  const Folder folder;
  plan::Plan plan = csv_plan(folder);
  engine::RunOptions options;
  options.compile_rule = kernels::rule_compiler();
  options.progress = false;
  plan.update[1] = sgd(1e300);  // the second window overflows
  plan.nonfinite.limit = 3;
  plan.stop = {reached(plan::Clock::attempts, 100)};
  CHECK_THROWS_AS(engine::run(plan, options), Error);
  const auto failed = events(folder.path / "runs" / "metrics.jsonl");
  CHECK(failed.back()["event"] == "end");
  CHECK(failed.back()["status"] == "failed");
  CHECK_FALSE(fs::exists(folder.path / "runs" / "model.safetensors"));

  plan = csv_plan(folder);
  plan.stop = {reached(plan::Clock::seconds, 60)};
  // Delivered before the run begins to wait, a signal would end the process: the handler is there only while
  // it runs.
  std::signal(SIGALRM, [](int) { std::raise(SIGINT); });
  alarm(1);
  CHECK(engine::run(plan, options) == 130);
  const auto interrupted = events(folder.path / "runs-2" / "metrics.jsonl");
  CHECK(interrupted.back()["status"] == "interrupted");
  CHECK(interrupted.back()["optimizer_step"] == interrupted[interrupted.size() - 2]["optimizer_step"]);
  CHECK(fs::exists(folder.path / "runs-2" / "model.safetensors"));
}

TEST_CASE("missing data and a plan for another build are refused before anything is written") {
  const Folder folder;
  plan::Plan plan = csv_plan(folder);
  plan.data.sources[0].component.args["path"] = "nowhere.csv";
  engine::RunOptions options;
  options.compile_rule = kernels::rule_compiler();
  options.progress = false;
  try {
    engine::run(plan, options);
    FAIL("ran without data");
  } catch (const Error& error) {
    CHECK(error.exit_code() == 2);
  }
  CHECK_FALSE(fs::exists(folder.path / "runs"));
}

}  // namespace
}  // namespace loop::testing
