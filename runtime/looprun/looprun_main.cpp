// looprun: executes a plan. `loopc run` starts it; it can be started by hand as well.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <torch/version.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>

#include "compiler/kernels/compiled_rule.h"
#include "loop/error.h"
#include "loop_versions.h"
#include "runtime/distributed/error_file.h"
#include "runtime/distributed/launch.h"
#include "runtime/distributed/local_ranks.h"
#include "runtime/distributed/process_group.h"
#include "runtime/engine/facts.h"
#include "runtime/engine/host_memory.h"
#include "runtime/engine/run.h"
#include "runtime/plan/json.h"
#include "runtime/verify/verify.h"

namespace {

constexpr int kUsage = 2;
constexpr int kInternal = 3;

int complain(const std::string& message, const std::string& repair, int code) {
  std::cerr << "looprun: error: " << message << '\n';
  if (!repair.empty()) std::cerr << "  help: " << repair << '\n';
  return code;
}

std::string read_file(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw loop::Error(loop::ErrorKind::usage, "cannot read the plan " + file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

loop::plan::Plan read_plan(const std::string& file) {
  const std::string text = read_file(file);
  const auto document = loop::plan::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) {
    throw loop::Error(loop::ErrorKind::usage, file + " is not a plan: it is no JSON document",
                      "make one with `loopc plan --json`");
  }
  loop::plan::Plan plan = loop::plan::from_json(document);
  loop::plan::refuse_if_stale(plan);
  return plan;
}

void set_threads() {
  const char* wanted = std::getenv("LOOP_THREADS");
  if (!wanted || !*wanted) return;
  char* end = nullptr;
  const long threads = std::strtol(wanted, &end, 10);
  constexpr long kMost = 4096;
  if (*end != '\0' || threads < 1 || threads > kMost) {
    throw loop::Error(loop::ErrorKind::usage, std::string("LOOP_THREADS is '") + wanted + "'",
                      "give a number of threads from 1 on");
  }
  at::set_num_threads(static_cast<int>(threads));
}

/// Ranks of one machine share its processors, unless the environment decides.
void share_threads(const loop::distributed::Launch& launch) {
  if (launch.local_size == 1 || std::getenv("LOOP_THREADS") || std::getenv("OMP_NUM_THREADS")) return;
  const auto share = at::get_num_threads() / static_cast<int>(launch.local_size);
  at::set_num_threads(std::max(1, share));
}

/// `--ranks N` without a launcher: this process becomes one, and starts itself N times.
int launch_local_ranks(int64_t ranks, const std::string& plan_file, std::vector<std::string> arguments) {
  const std::string plan = read_file(plan_file);
  arguments.front() = "/proc/self/exe";
  const loop::distributed::StoreHost store;
  return loop::distributed::run_local_ranks(arguments, ranks, store.port(), plan);
}

/// LibTorch's threads wait for each other in a busy loop: on a machine that others use too, that makes
/// training several times slower. They are told to sleep after a short while. The setting is read when the
/// process starts, hence the second start.
void wait_by_sleeping(char** arguments) {
  if (std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT")) return;
  setenv("GOMP_SPINCOUNT", "1000", 1);
  execv("/proc/self/exe", arguments);  // without /proc: go on as it is
}

void print_versions() {
  std::string backend = at::get_parallel_info();
  const nlohmann::ordered_json versions = {
      {"version", LOOP_VERSION},
      {"torch", TORCH_VERSION},
      {"llvm", loop::kernels::llvm_version()},
      {"cuda", at::hasCUDA()},
      {"threads", at::get_num_threads()},
      {"parallel_backend", backend.find("OpenMP") != std::string::npos ? "OpenMP" : "native"}};
  std::cout << versions.dump() << '\n';
}

constexpr int kNotEqual = 1;

int verify(const loop::plan::Plan& plan, const loop::verify::VerifyOptions& options, bool json) {
  const loop::verify::Report report = loop::verify::verify(plan, options);
  if (json) {
    std::cout << loop::verify::to_json(report).dump(2) << '\n';
  } else {
    loop::verify::write_text(std::cout, report);
  }
  return report.equal() ? 0 : kNotEqual;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("looprun executes a plan made by loopc", "looprun");
  std::string plan_file;
  loop::engine::RunOptions options;
  bool facts = false, versions = false, quiet = false, verify_gradient = false, json = false;
  loop::verify::VerifyOptions verification;
  int64_t ranks = 0;
  std::optional<loop::distributed::Launch> launch;
  app.add_option("--plan", plan_file, "the plan (loopc plan --json)");
  app.add_option("--out", options.out, "run directory, instead of the plan's log path");
  app.add_option("--data-dir", options.data_dir,
                 "where relative data paths start, instead of the spec's folder");
  app.add_option("--ranks", ranks,
                 "number of processes that train together; unset: what the environment says")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  app.add_flag("--facts", facts,
               "look at data and model, print what is known of them as JSON, and do not train");
  app.add_flag("--verify", verify_gradient,
               "compare one window's gradient with one big batch, and do not train");
  app.add_option("--window", verification.window, "with --verify: first, tail or a number");
  app.add_option("--simulate-ranks", verification.ranks, "with --verify: ranks, one after the other");
  app.add_option("--tolerance", verification.tolerance, "with --verify: relative error that counts as equal");
  app.add_flag("--json", json, "with --verify: the report as JSON");
  app.add_flag("--quiet", quiet, "show no progress");
  app.add_flag("--version-json", versions, "print what this executable was built with");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  try {
    set_threads();
    if (versions) return print_versions(), 0;
    if (plan_file.empty()) return complain("no plan given", "looprun --plan FILE", kUsage);
    if (!facts) wait_by_sleeping(argv);
    loop::engine::keep_freed_memory();
    if (!facts) launch = loop::distributed::read_launch(loop::distributed::process_environment());
    if (launch && ranks > 0 && ranks != launch->size) {
      return complain("--ranks " + std::to_string(ranks) + ", but " + launch->launcher + " started " +
                          std::to_string(launch->size),
                      "leave --ranks out under a launcher", kUsage);
    }
    if (!facts && !launch && ranks > 1) return launch_local_ranks(ranks, plan_file, {argv, argv + argc});
    const loop::plan::Plan plan = read_plan(plan_file);
    if (facts) return std::cout << loop::engine::facts(plan, options.data_dir).dump() << '\n', 0;
    options.compile_rule = loop::kernels::rule_compiler();
    if (verify_gradient) {
      verification.data_dir = options.data_dir;
      verification.compile_rule = options.compile_rule;
      return verify(plan, verification, json);
    }
    options.progress = !quiet;
    if (launch) {
      share_threads(*launch);
      const auto timeouts = loop::distributed::read_timeouts(loop::distributed::process_environment());
      options.ranks = loop::distributed::join(*launch, timeouts, /*cuda=*/false);
    }
    return loop::engine::run(plan, options);
  } catch (const loop::distributed::RemoteError& error) {
    // The rank that failed has said it itself; rank 0 repeats it, since its output is what people look at.
    loop::distributed::write_error_file(error);
    return launch->rank == 0 ? complain(error.what(), error.repair(), error.exit_code()) : error.exit_code();
  } catch (const loop::Error& error) {
    loop::distributed::write_error_file(error);
    return complain(error.what(), error.repair(), error.exit_code());
  } catch (const loop::plan::PlanError& error) {
    return complain(error.what(), "make a new plan with `loopc plan --json`, or use `loopc run`", kUsage);
  } catch (const c10::Error& error) {
    return complain(error.what_without_backtrace(), "", kInternal);
  } catch (const std::exception& error) {
    return complain(error.what(), "", kInternal);
  }
}
