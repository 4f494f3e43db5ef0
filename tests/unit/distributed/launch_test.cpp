// What launchers write into the environment, and what is refused.
#include "runtime/distributed/launch.h"

#include <doctest/doctest.h>

#include <map>

#include "loop/error.h"
#include "runtime/distributed/collective_log.h"

namespace loop::distributed {
namespace {

using Variables = std::map<std::string, std::string>;

Environment environment(Variables variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

/// The message of the refusal; empty when there is none.
std::string refusal(const Variables& variables) {
  try {
    read_launch(environment(variables));
    return "";
  } catch (const Error& error) {
    CHECK(error.exit_code() == 2);
    CHECK(!error.repair().empty());
    return error.what();
  }
}

TEST_CASE("launch: nobody launched anything") {
  CHECK(!read_launch(environment({})));
  CHECK(!read_launch(environment({{"MASTER_ADDR", "node01"}, {"LOCAL_RANK", "0"}})));
  // A batch script is no member of a step.
  CHECK(!read_launch(environment({{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}})));
}

TEST_CASE("launch: torchrun") {
  const auto launch = read_launch(environment({{"RANK", "5"},
                                               {"WORLD_SIZE", "8"},
                                               {"LOCAL_RANK", "1"},
                                               {"LOCAL_WORLD_SIZE", "4"},
                                               {"MASTER_ADDR", "node01"},
                                               {"MASTER_PORT", "29400"},
                                               {"TORCHELASTIC_RUN_ID", "x"},
                                               {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                               {"TORCHELASTIC_RESTART_COUNT", "2"},
                                               {"OMPI_COMM_WORLD_RANK", "1"},
                                               {"OMPI_COMM_WORLD_SIZE", "8"}}));
  REQUIRE(launch);
  CHECK(launch->rank == 5);
  CHECK(launch->size == 8);
  CHECK(launch->local_rank == 1);
  CHECK(launch->local_size == 4);
  CHECK(launch->master_address == "node01");
  CHECK(launch->master_port == 29400);
  CHECK(launch->store_is_hosted);
  CHECK(launch->attempt == 2);
  CHECK(launch->launcher == "torchrun");
}

TEST_CASE("launch: Slurm and Open MPI") {
  const auto slurm = read_launch(environment({{"SLURM_JOB_ID", "20017"},
                                              {"SLURM_STEP_ID", "0"},
                                              {"SLURM_PROCID", "3"},
                                              {"SLURM_STEP_NUM_TASKS", "4"},
                                              {"SLURM_LOCALID", "1"},
                                              {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                                              {"SLURM_STEP_NODELIST", "node[03-04]"}}));
  REQUIRE(slurm);
  CHECK(slurm->rank == 3);
  CHECK(slurm->size == 4);
  CHECK(slurm->local_size == 2);
  CHECK(slurm->master_address == "node03");
  CHECK(slurm->master_port == 20017);
  const auto mpi = read_launch(environment({{"OMPI_COMM_WORLD_RANK", "1"},
                                            {"OMPI_COMM_WORLD_SIZE", "2"},
                                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}));
  REQUIRE(mpi);
  CHECK(mpi->rank == 1);
  CHECK(mpi->master_address == "127.0.0.1");
}

TEST_CASE("launch: half set, malformed, contradictory") {
  const auto says = [](const std::string& text, const std::string& part) {
    INFO(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(says(refusal({{"RANK", "1"}}), "WORLD_SIZE is not set"));
  CHECK(says(refusal({{"WORLD_SIZE", "2"}}), "RANK is not set"));
  CHECK(says(refusal({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), "RANK = 2 with WORLD_SIZE = 2"));
  CHECK(says(refusal({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}), "RANK = '-1'"));
  CHECK(says(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), "MASTER_ADDR"));
  CHECK(says(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}), "MASTER_PORT"));
  CHECK(says(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "70000"}}),
             "MASTER_PORT = 70000"));
  CHECK(says(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "2"}, {"LOCAL_WORLD_SIZE", "2"}}),
             "local rank 2"));
  CHECK(says(refusal({{"RANK", "0"},
                      {"WORLD_SIZE", "2"},
                      {"MASTER_ADDR", "a"},
                      {"MASTER_PORT", "1"},
                      {"OMPI_COMM_WORLD_RANK", "1"},
                      {"OMPI_COMM_WORLD_SIZE", "2"}}),
             "OMPI_COMM_WORLD_RANK = 1"));
  CHECK(says(refusal({{"OMPI_COMM_WORLD_SIZE", "2"}}), "OMPI_COMM_WORLD_RANK is not set"));
  CHECK(refusal({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).empty());
}

TEST_CASE("launch: time limits") {
  const Timeouts usual = read_timeouts(environment({}));
  CHECK(usual.start_ms == 300'000);
  CHECK(usual.training_ms == 100'000);
  CHECK(read_timeouts(environment({{"LOOP_COLLECTIVE_TIMEOUT_S", "2.5"}})).training_ms == 2500);
  for (const char* wrong : {"0", "-1", "x", "nan", "1s", "1e99"}) {
    CHECK_THROWS_AS(read_timeouts(environment({{"LOOP_START_TIMEOUT_S", wrong}})), Error);
  }
}

TEST_CASE("the log of collectives keeps the newest and counts all") {
  CollectiveLog log;
  CHECK(log.newest().sequence == 0);
  for (int i = 1; i <= 100; ++i) CHECK(log.start("all-reduce sum", 8, "bucket " + std::to_string(i)) == i);
  CHECK(log.totals().collectives == 100);
  CHECK(log.totals().bytes == 800);
  CHECK(to_text(log.newest()) == "#100 all-reduce sum, 8 bytes: bucket 100");
  const std::string text = log.dump();
  CHECK(text.find("#68 ") == std::string::npos);
  CHECK(text.find("#69 ") != std::string::npos);
}

}  // namespace
}  // namespace loop::distributed
