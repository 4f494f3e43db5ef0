// A plan from its first check to the files it leaves behind.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "runtime/distributed/communicator.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/rule_kernel.h"
#include "runtime/telemetry/sink.h"

namespace loop::engine {

struct RunOptions {
  std::filesystem::path out;       // run directory; empty: what the plan asks for
  std::filesystem::path data_dir;  // where relative data paths start; empty: the spec's folder
  bool progress = true;            // show progress on the standard output
  std::shared_ptr<distributed::Communicator> ranks = distributed::alone();
  std::shared_ptr<telemetry::Sink> also;  // gets rank 0's records beside the plan's own sinks; may be null
  plan::RuleCompiler compile_rule;
};

/// Every rank calls this; rank 0 alone shows progress and writes files.
/// Executes the plan and returns the exit code: 0, or 130 after SIGINT or SIGTERM. Throws loop::Error, whose
/// exit code says what kind of failure it was; whatever the run reported before is on disk by then.
int run(const plan::Plan& plan, const RunOptions& options);

}  // namespace loop::engine
