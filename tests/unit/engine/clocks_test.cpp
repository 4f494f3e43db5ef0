// Clocks, triggers, stop conditions, the horizon and the run directory: everything of a run that needs no
// tensor.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "loop/error.h"
#include "plan_builder.h"
#include "runtime/engine/available.h"
#include "runtime/engine/horizon.h"
#include "runtime/engine/interrupt.h"
#include "runtime/engine/run_directory.h"
#include "runtime/engine/triggers.h"
#include "runtime/plan/json.h"

#include <csignal>

namespace loop::testing {
namespace {

using plan::Clock;

TEST_CASE("which clocks advance with a window that was not applied") {
  Clocks clocks;
  clocks.window_finished(true, {10, 100, 4, 0.5});
  clocks.window_finished(false, {12, 90, 4, 1.0});
  CHECK(clocks.attempts == 2);
  CHECK(clocks.micro_batches == 8);
  CHECK(clocks.epochs == 1.0);
  CHECK(clocks.samples_seen == 22);
  CHECK(clocks.tokens_seen == 190);
  CHECK(clocks.updates == 1);
  CHECK(clocks.samples == 10);
  CHECK(clocks.tokens == 100);
  const plan::Lookup known = clocks.lookup(50);
  CHECK(known("updates") == 1);
  CHECK(known("tokens_seen") == 190);
  CHECK(known("horizon") == 50);
  CHECK_FALSE(known("finite"));
  CHECK_FALSE(clocks.lookup(-1)("horizon"));
}

TEST_CASE("every fires once per multiple") {
  engine::Every every({{Clock::updates, 3}});
  Clocks clocks;
  std::vector<int64_t> fired;
  for (clocks.updates = 0; clocks.updates <= 9; ++clocks.updates) {
    if (every.fires(clocks)) fired.push_back(clocks.updates);
    CHECK_FALSE(every.fires(clocks));  // a skipped update leaves the clock where it is
  }
  CHECK(fired == std::vector<int64_t>{3, 6, 9});

  engine::Every tokens({{Clock::tokens, 100}});
  clocks.tokens = 350;  // passes three multiples at once
  CHECK(tokens.fires(clocks));
  clocks.tokens = 399;
  CHECK_FALSE(tokens.fires(clocks));
  clocks.tokens = 400;
  CHECK(tokens.fires(clocks));

  engine::Every fractions({{Clock::epochs, 0.1}});
  int count = 0;
  for (int i = 1; i <= 10; ++i) {
    clocks.epochs += 0.1;  // 0.1 added ten times is a little less than 1
    count += fractions.fires(clocks);
  }
  CHECK(count == 10);

  engine::Every either({{Clock::updates, 4}, {Clock::seconds, 60}});
  clocks.updates = 1;
  clocks.seconds = 61;
  CHECK(either.fires(clocks));
  CHECK_FALSE(either.fires(clocks));
}

TEST_CASE("stop conditions") {
  plan::StopCondition no_better;
  no_better.kind = plan::StopCondition::Kind::no_better;
  no_better.metric = "held_out.loss";
  no_better.patience_evaluations = 2;
  engine::StopConditions stop(
      {reached(Clock::updates, 100), reached(Clock::seconds, 7200), reached(Clock::epochs, 2.5), no_better});
  Clocks clocks;
  CHECK(stop.last_epoch() == 3);
  CHECK_FALSE(stop.reached(clocks));
  clocks.updates = 100;
  CHECK(stop.reached(clocks) == "100 updates");
  clocks.updates = 99;
  clocks.seconds = 7200;
  CHECK(stop.reached(clocks) == "2 h");
  clocks.seconds = 0;
  for (const double loss : {3.0, 2.0, 2.5}) stop.evaluated("held_out.loss", loss);
  stop.evaluated("other.loss", 9);
  CHECK_FALSE(stop.reached(clocks));
  stop.evaluated("held_out.loss", 1.9);
  stop.evaluated("held_out.loss", std::nan(""));
  CHECK_FALSE(stop.reached(clocks));
  stop.evaluated("held_out.loss", 1.9);
  CHECK(stop.reached(clocks) == "held_out.loss was no better for 2 evaluations");

  no_better.metric = "held_out.accuracy";
  engine::StopConditions accuracy({no_better});
  for (const double value : {0.5, 0.6, 0.7}) accuracy.evaluated("held_out.accuracy", value);
  CHECK_FALSE(accuracy.reached(clocks));
  accuracy.evaluated("held_out.accuracy", 0.7);
  accuracy.evaluated("held_out.accuracy", 0.1);
  CHECK(accuracy.reached(clocks));
}

std::optional<int64_t> planned(int64_t samples, int64_t micro, int64_t k, plan::Tail tail,
                               std::vector<plan::StopCondition> stop) {
  plan::Plan plan = tiny_plan();
  plan.stop = std::move(stop);
  data::WindowFormerOptions options;
  options.size_samples = samples;
  options.micro_batch_samples = micro;
  options.window.value = k;
  options.tail = tail;
  options.tokens = [](int64_t) { return 10; };
  return engine::planned_updates(plan, options);
}

TEST_CASE("the horizon is what bounds the run first") {
  using plan::Tail;
  CHECK(planned(100, 5, 4, Tail::flush, {reached(Clock::updates, 1000)}) == 1000);
  CHECK(planned(100, 5, 4, Tail::flush, {reached(Clock::updates, 1000), reached(Clock::epochs, 10)}) == 50);
  CHECK(planned(100, 5, 4, Tail::flush, {reached(Clock::tokens, 401)}) == 3);
  CHECK(planned(100, 5, 4, Tail::flush, {reached(Clock::samples_seen, 400)}) == 20);
  CHECK(planned(100, 5, 4, Tail::flush, {reached(Clock::micro_batches, 9)}) == 3);
  CHECK(planned(100, 5, 4, Tail::flush, {reached(Clock::epochs, 0.5)}) == 3);
  CHECK(planned(100, 5, 4, Tail::flush, {reached(Clock::seconds, 60), reached(Clock::attempts, 7)}) == 7);
  CHECK_FALSE(planned(100, 5, 4, Tail::flush, {reached(Clock::seconds, 60)}));

  plan::Plan plan = tiny_plan();
  CHECK_FALSE(engine::reads_horizon(plan));
  plan.update = {sgd(plan::Expression::apply("/", {clock("updates"), clock("horizon")}))};
  CHECK(engine::reads_horizon(plan));
}

TEST_CASE("what this build cannot do is refused by name") {
  plan::Plan plan = tiny_plan();
  engine::refuse_unavailable(plan);
  plan.window.oom = plan::OomPolicy::halve;
  plan.checkpoint = plan::Checkpoint{};
  plan.checkpoint->path = "c";
  try {
    engine::refuse_unavailable(plan);
    FAIL("nothing was refused");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) == "not available in this build: window.oom = halve, checkpoint");
    CHECK(error.exit_code() == 1);
  }
  plan = tiny_plan();
  plan.ranks = 2;
  engine::refuse_unavailable(plan, 2);
  CHECK_THROWS_AS(engine::refuse_unavailable(plan, 1), Error);
}

TEST_CASE("a run directory is never written over") {
  namespace fs = std::filesystem;
  const fs::path base = fs::temp_directory_path() / ("loop_run_directory_" + std::to_string(getpid()));
  fs::remove_all(base);
  plan::Plan plan = tiny_plan();
  plan.resolved_spec = "loop tiny { }\n";
  plan.log.path = (base / "here").string();
  const fs::path first = engine::make_run_directory(plan, {});
  CHECK(first == base / "here");
  CHECK(fs::exists(first / "plan.json"));
  std::ifstream spec(first / "spec.loop");
  std::string line;
  std::getline(spec, line);
  CHECK(line == "loop tiny { }");
  std::ifstream saved(first / "plan.json");
  CHECK(plan::from_json(plan::json::parse(saved)) == plan);
  CHECK(engine::make_run_directory(plan, {}) == base / "here-2");
  CHECK(engine::make_run_directory(plan, base / "here/") == base / "here-3");
  fs::create_directories(base / "empty");
  CHECK(engine::make_run_directory(plan, base / "empty") == base / "empty");
  std::ofstream(base / "file") << "x";
  CHECK_THROWS_AS(engine::make_run_directory(plan, base / "file"), Error);
  plan.log.path.clear();
  CHECK(engine::wanted_run_directory(plan, {}) == fs::path("runs") / "tiny");
  fs::remove_all(base);
}

TEST_CASE("a signal sets a flag, and only while somebody waits for it") {
  {
    const engine::InterruptGuard guard;
    CHECK_FALSE(guard.requested());
    std::raise(SIGINT);
    CHECK(guard.requested());
  }
  const engine::InterruptGuard fresh;
  CHECK_FALSE(fresh.requested());
  std::raise(SIGTERM);
  CHECK(fresh.requested());
}

}  // namespace
}  // namespace loop::testing
