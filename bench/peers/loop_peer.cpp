// A run as `looprun` does it, at the pace of a benchmark: it goes on when it is asked for more windows.
//
//   bench_loop PLAN RUN_FOLDER          (the environment may make it one of several ranks, as for looprun)
#include <ATen/Parallel.h>

#include <csignal>
#include <fstream>
#include <iostream>
#include <iterator>

#include "bench/peers/pace.h"
#include "compiler/kernels/compiled_rule.h"
#include "runtime/distributed/launch.h"
#include "runtime/distributed/process_group.h"
#include "runtime/engine/host_memory.h"
#include "runtime/engine/run.h"
#include "runtime/plan/json.h"

namespace {

/// Sees every window of rank 0. The others wait for it in their next collective.
class Paced : public loop::telemetry::Sink {
 public:
  void update(const loop::telemetry::UpdateRecord&) override {
    if (stopped_) return;
    const bool more = begun_ ? pace_.window_done() : pace_.begin();
    begun_ = true;
    if (!more) stopped_ = std::raise(SIGINT) == 0;  // the run ends as by Ctrl-C
  }

 private:
  bench::Pace pace_;
  bool begun_ = false;  // the first window is not timed
  bool stopped_ = false;
};

loop::plan::Plan read_plan(const char* file) {
  std::ifstream in(file);
  return loop::plan::from_json(loop::plan::json::parse(in));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: bench_loop PLAN RUN_FOLDER\n", 2;
  at::set_num_threads(1);
  loop::engine::keep_freed_memory();
  try {
    loop::engine::RunOptions options;
    options.out = argv[2];
    options.progress = false;
    options.compile_rule = loop::kernels::rule_compiler();
    options.also = std::make_shared<Paced>();
    const auto environment = loop::distributed::process_environment();
    if (const auto launch = loop::distributed::read_launch(environment)) {
      options.ranks =
          loop::distributed::join(*launch, loop::distributed::read_timeouts(environment), /*cuda=*/false);
    }
    loop::engine::run(read_plan(argv[1]), options);
  } catch (const std::exception& error) {
    return std::cerr << "error: " << error.what() << '\n', 1;
  }
}
