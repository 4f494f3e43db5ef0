#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "loop/error.h"
#include "runtime/telemetry/debiased_mean.h"
#include "runtime/telemetry/jsonl.h"
#include "runtime/telemetry/memory.h"
#include "runtime/telemetry/progress.h"
#include "runtime/telemetry/readable.h"

namespace loop::telemetry {
namespace {

UpdateRecord update(int64_t step) {
  UpdateRecord record;
  record.micro_step = 4 * step;
  record.optimizer_step = record.attempted = step;
  record.micro_batches = 4;
  record.local_effective_tokens = record.global_effective_tokens = 2048;
  record.physical_tokens = 2100;
  record.loss = 2.5;
  record.grad_norm = 3.7;
  record.clipped = record.applied = true;
  record.learning_rates = {{"decayed", 2e-3}, {"plain", 1e-3}};
  record.tokens_per_second = 34567;
  record.seconds = double(step);
  return record;
}

std::vector<nlohmann::json> lines(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<nlohmann::json> result;
  for (std::string line; std::getline(in, line);) result.push_back(nlohmann::json::parse(line));
  return result;
}

TEST_CASE("metrics.jsonl holds one whole object per line as soon as it is reported") {
  const auto file =
      std::filesystem::temp_directory_path() / ("loop_metrics_" + std::to_string(getpid()) + ".jsonl");
  {
    JsonlSink sink(file);
    RunStart start;
    start.loop_name = "tiny";
    start.directory = "runs/tiny";
    sink.start(start);
    sink.update(update(1));
    UpdateRecord quiet = update(2);
    quiet.line = false;
    sink.update(quiet);
    UpdateRecord skipped = update(2);
    skipped.loss = std::numeric_limits<double>::quiet_NaN();
    skipped.grad_norm = std::numeric_limits<double>::infinity();
    skipped.applied = false;
    skipped.skipped = "the gradient is not finite, first in w, micro-batch 2 of 4";
    sink.update(skipped);
    EvaluationRecord evaluation;
    evaluation.name = "held_out";
    evaluation.metrics = {{"loss", 1.5}, {"accuracy", 0.75}};
    sink.evaluation(evaluation);
    CHECK(lines(file).size() == 4);  // flushed, though the sink lives
    RunEnd end;
    end.status = "done";
    sink.end(end);
  }
  const auto all = lines(file);
  REQUIRE(all.size() == 5);
  CHECK(all[0]["event"] == "start");
  CHECK(all[0]["planned_updates"].is_null());
  CHECK(all[1]["event"] == "update");
  for (const char* field : {"micro_step", "optimizer_step", "attempted", "local_effective_tokens",
                            "global_effective_tokens", "physical_tokens", "loss", "grad_norm", "clipped",
                            "applied", "lr", "tokens_per_second", "peak_memory_bytes", "epoch"}) {
    CAPTURE(field);
    CHECK(all[1].contains(field));
  }
  CHECK(all[1]["micro_step"] == 4);
  CHECK(all[1]["global_effective_tokens"].is_number_integer());
  CHECK(all[1]["lr"]["decayed"] == 2e-3);
  CHECK_FALSE(all[1].contains("skipped"));
  CHECK(all[2]["loss"].is_null());
  CHECK(all[2]["grad_norm"].is_null());
  CHECK(all[2]["skipped"] == "the gradient is not finite, first in w, micro-batch 2 of 4");
  CHECK(all[3]["event"] == "evaluation");
  CHECK(all[3]["metrics"]["accuracy"] == 0.75);
  CHECK(all[4]["event"] == "end");
  std::filesystem::remove(file);
  CHECK_THROWS_AS(JsonlSink("/nowhere/metrics.jsonl"), Error);
}

TEST_CASE("the progress line fits its terminal and loses the least important first") {
  const UpdateRecord record = update(250);
  const std::string wide = progress_line(record, 1000, 0.1, 120);
  CHECK(wide ==
        "[======>                     ]  250/1000  loss 2.500  1:15 left  lr 0.002  grad 3.700 clipped  "
        "34.6k tokens/s");
  const std::string narrow = progress_line(record, 1000, 0.1, 40);
  CHECK(narrow == "250/1000  loss 2.500  1:15 left");
  for (int width = 0; width < 130; ++width) {
    CAPTURE(width);
    CHECK(static_cast<int>(progress_line(record, 1000, 0.1, width).size()) <= width);
  }
  CHECK(progress_line(record, std::nullopt, 0.1, 40) == "250  loss 2.500  4:10  lr 0.002");
}

TEST_CASE("a terminal is redrawn at most ten times a second") {
  std::ostringstream out;
  double now = 0;
  ProgressSink sink(
      out,
      [] {
        return Terminal{true, 60};
      },
      [&now] { return now; });
  RunStart start;
  start.planned_updates = 1000;
  sink.start(start);
  for (int i = 1; i <= 500; ++i) {
    now = i * 0.004;  // two seconds altogether
    sink.update(update(i));
  }
  const std::string text = out.str();
  const auto draws = std::count(text.begin(), text.end(), '\r');
  CHECK(draws >= 18);
  CHECK(draws <= 21);
  sink.update(update(1000));  // the last one is always shown
  CHECK(out.str().find("1000/1000") != std::string::npos);
}

TEST_CASE("elsewhere progress is plain lines, only those that are wanted") {
  std::ostringstream out;
  ProgressSink sink(
      out,
      [] {
        return Terminal{false, 80};
      },
      [] { return 0.0; });
  RunStart start;
  start.loop_name = "tiny";
  start.model = "gpt";
  start.dtype = "fp32";
  start.device = "cpu";
  start.train_samples = 1234;
  start.trainable_parameters = 834560;
  start.window = "4 micro_batches";
  start.planned_updates = 1000;
  start.directory = "runs/tiny";
  sink.start(start);
  UpdateRecord quiet = update(1);
  quiet.line = false;
  sink.update(quiet);
  sink.update(update(2));
  UpdateRecord skipped = update(2);
  skipped.attempted = 3;
  skipped.skipped = "no counted unit in the window";
  skipped.applied = false;
  sink.update(skipped);
  EvaluationRecord evaluation;
  evaluation.name = "held_out";
  evaluation.with = "slow";
  evaluation.optimizer_step = 2;
  evaluation.metrics = {{"loss", 1.5}};
  sink.evaluation(evaluation);
  RunEnd end;
  end.status = "done";
  end.reason = "1000 updates";
  end.optimizer_step = 1000;
  end.attempted = 1001;
  end.seconds = 75;
  end.lost_samples = 3;
  end.directory = "runs/tiny";
  sink.end(end);
  CHECK(out.str() ==
        "tiny: gpt, 834.6k trainable parameters, fp32 on cpu, 1.2k samples, window 4 micro_batches, 1000 "
        "updates\n"
        "writing to runs/tiny\n"
        "update 2/1000  loss 2.500  16:38 left  lr 0.002  grad 3.700 clipped  34.6k tokens/s\n"
        "window 3 skipped: no counted unit in the window\n"
        "update 2  held_out  loss 1.500  (slow)\n"
        "done: 1000 updates (1000 updates of 1001 windows, 1:15)\n"
        "3 samples were left out (drop)\n"
        "everything is in runs/tiny\n");
}

TEST_CASE("a running mean is not pulled towards zero at the start") {
  // A model that knows nothing has the loss ln 32768; a bias correction that is one step ahead shows about
  // half of it.
  const double first = std::log(32768.0);
  DebiasedMean mean(0.9);
  CHECK(mean.empty());
  mean.add(first);
  CHECK(std::abs(mean.value() - 10.397) < 0.01 * first);
  mean.add(first);
  CHECK(std::abs(mean.value() - first) < 1e-12);
  mean.add(0);
  CHECK(mean.value() == doctest::Approx(first * (0.9 + 0.81) / (1 + 0.9 + 0.81)));
}

TEST_CASE("numbers for people") {
  CHECK(readable(2.34567) == "2.346");
  CHECK(readable(0.002) == "0.002");
  CHECK(readable(0.0015) == "0.0015");
  CHECK(readable(2e-5) == "2.00e-05");
  CHECK(readable(123.456) == "123.5");
  CHECK(readable(1e6) == "1.00e+06");
  CHECK(readable(0) == "0");
  CHECK(readable(std::nan("")) == "nan");
  CHECK(readable_bytes(640) == "640 B");
  CHECK(readable_bytes(1536) == "1.5 KiB");
  CHECK(readable_bytes(1023.0 * 1024) == "1023 KiB");
  CHECK(readable_bytes(2.0 * 1024 * 1024 * 1024) == "2 GiB");
  CHECK(readable_bytes(1.934 * 1024 * 1024 * 1024) == "1.934 GiB");
  CHECK(readable_count(834) == "834");
  CHECK(readable_count(999.9) == "1.0k");
  CHECK(readable_count(834560) == "834.6k");
  CHECK(readable_count(4.5e6) == "4.5M");
  CHECK(readable_duration(7) == "0:07");
  CHECK(readable_duration(754) == "12:34");
  CHECK(readable_duration(10921) == "3:02:01");
  CHECK(readable_duration(-1) == "?");
  CHECK(peak_memory_bytes() > 1000000);
}

}  // namespace
}  // namespace loop::telemetry
