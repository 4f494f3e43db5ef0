#include "runtime/distributed/launch.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "loop/error.h"
#include "runtime/plan/buckets.h"

namespace loop::distributed {

namespace {

[[noreturn]] void refuse(const std::string& message, const std::string& repair) {
  throw Error(ErrorKind::usage, "the launch environment " + message, repair);
}

class Reader {
 public:
  explicit Reader(const Environment& environment) : environment_(environment) {}

  std::optional<std::string> text(const std::string& name) const {
    auto value = environment_(name);
    if (value && value->empty()) return std::nullopt;
    return value;
  }

  std::optional<int64_t> number(const std::string& name) const {
    const auto value = text(name);
    if (!value) return std::nullopt;
    int64_t result = 0;
    const char* end = value->data() + value->size();
    const auto [stopped, error] = std::from_chars(value->data(), end, result);
    if (error != std::errc() || stopped != end || result < 0) {
      refuse("has " + name + " = '" + *value + "'", "it must be a whole number from 0 on");
    }
    return result;
  }

  int64_t required(const std::string& name, const std::string& because) const {
    if (const auto value = number(name)) return *value;
    refuse(
        "has " + because + ", but " + name + " is not set",
        "set it for every process, unset the others to run alone, or let `loopc run --ranks N` or torchrun "
        "set them all");
  }

 private:
  const Environment& environment_;
};

std::string is(const std::string& name, int64_t value) {
  return name + " = " + std::to_string(value);
}

void check(const Launch& launch, const std::string& rank_name, const std::string& size_name) {
  if (launch.size < 1) refuse("has " + is(size_name, launch.size), "there is at least one process");
  if (launch.rank >= launch.size) {
    refuse("contradicts itself: " + is(rank_name, launch.rank) + " with " + is(size_name, launch.size),
           "ranks count from 0 to " + std::to_string(launch.size - 1));
  }
  if (launch.local_size < 1 || launch.local_size > launch.size || launch.local_rank >= launch.local_size) {
    refuse("contradicts itself: local rank " + std::to_string(launch.local_rank) + " of " +
               std::to_string(launch.local_size) + " processes on this machine, " +
               std::to_string(launch.size) + " in all",
           "check LOCAL_RANK and LOCAL_WORLD_SIZE");
  }
}

void read_master(const Reader& reader, Launch& launch, const std::string& fallback_address,
                 int64_t fallback_port) {
  launch.master_address = reader.text("MASTER_ADDR").value_or(fallback_address);
  launch.master_port = reader.number("MASTER_PORT").value_or(fallback_port);
  if (launch.size == 1) return;
  const char* repair =
      "set MASTER_ADDR to the name of rank 0's machine and MASTER_PORT to a free port there, the same for "
      "all";
  if (launch.master_address.empty()) refuse("says nothing of MASTER_ADDR", repair);
  if (launch.master_port == 0) refuse("says nothing of MASTER_PORT", repair);
  constexpr int64_t kLastPort = 65535;
  if (launch.master_port > kLastPort) refuse("has " + is("MASTER_PORT", launch.master_port), repair);
}

Launch by_variables(const Reader& reader) {
  Launch launch;
  launch.rank = reader.required("RANK", "WORLD_SIZE");
  launch.size = reader.required("WORLD_SIZE", is("RANK", launch.rank));
  const auto local_rank = reader.number("LOCAL_RANK");
  launch.local_size = reader.number("LOCAL_WORLD_SIZE").value_or(local_rank.value_or(0) + 1);
  launch.local_rank = local_rank.value_or(0);
  const bool elastic = reader.text("TORCHELASTIC_RUN_ID").has_value();
  launch.launcher = elastic ? "torchrun" : "environment";
  launch.store_is_hosted = reader.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  launch.attempt = reader.number("TORCHELASTIC_RESTART_COUNT").value_or(0);
  check(launch, "RANK", "WORLD_SIZE");
  // A launcher below torchrun counts machines, not processes; without torchrun both must agree.
  const auto other_size = reader.number("OMPI_COMM_WORLD_SIZE");
  const auto other_rank = reader.number("OMPI_COMM_WORLD_RANK");
  if (!elastic && other_size == launch.size && other_rank && other_rank != launch.rank) {
    refuse("contradicts itself: " + is("RANK", launch.rank) + ", " + is("OMPI_COMM_WORLD_RANK", *other_rank),
           "unset RANK and WORLD_SIZE, and MPI's variables are used");
  }
  read_master(reader, launch, "", 0);
  return launch;
}

Launch by_mpi(const Reader& reader) {
  Launch launch;
  launch.launcher = "MPI";
  launch.rank = reader.required("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
  launch.size = reader.required("OMPI_COMM_WORLD_SIZE", is("OMPI_COMM_WORLD_RANK", launch.rank));
  launch.local_rank = reader.number("OMPI_COMM_WORLD_LOCAL_RANK").value_or(0);
  launch.local_size = reader.number("OMPI_COMM_WORLD_LOCAL_SIZE").value_or(launch.local_rank + 1);
  check(launch, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
  constexpr int64_t kPort = 29500;
  read_master(reader, launch, launch.local_size == launch.size ? "127.0.0.1" : "", kPort);
  return launch;
}

/// "node[03-07,12],other" → "node03".
std::string first_host(const std::string& list) {
  const size_t open = list.find_first_of("[,");
  if (open == std::string::npos || list[open] == ',') return list.substr(0, open);
  const size_t end = list.find_first_of("-,]", open);
  return end == std::string::npos ? "" : list.substr(0, open) + list.substr(open + 1, end - open - 1);
}

/// "4(x2),3": processes on the first machines, as far as one number says it.
std::optional<int64_t> uniform_tasks(const std::string& list) {
  int64_t tasks = 0;
  const auto [stopped, error] = std::from_chars(list.data(), list.data() + list.size(), tasks);
  const bool uniform = list.find(',') == std::string::npos;
  return error == std::errc() && uniform ? std::optional<int64_t>(tasks) : std::nullopt;
}

Launch by_slurm(const Reader& reader) {
  Launch launch;
  launch.launcher = "Slurm";
  launch.rank = reader.required("SLURM_PROCID", "SLURM_STEP_ID");
  const auto of_step = reader.number("SLURM_STEP_NUM_TASKS");
  launch.size = of_step ? *of_step : reader.required("SLURM_NTASKS", is("SLURM_PROCID", launch.rank));
  launch.local_rank = reader.number("SLURM_LOCALID").value_or(0);
  const auto tasks = reader.text("SLURM_STEP_TASKS_PER_NODE");
  const auto uniform = tasks ? uniform_tasks(*tasks) : std::nullopt;
  launch.local_size = uniform.value_or(launch.local_rank + 1);
  check(launch, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS");
  // Jobs that share a machine must not share a port.
  constexpr int64_t kFirstPort = 20000, kPorts = 20000;
  const int64_t port = kFirstPort + reader.number("SLURM_JOB_ID").value_or(0) % kPorts;
  const auto nodes = reader.text("SLURM_STEP_NODELIST");
  const std::string host = nodes ? first_host(*nodes) : "";
  read_master(reader, launch, launch.local_size == launch.size ? "127.0.0.1" : host, port);
  return launch;
}

int64_t milliseconds(const Environment& environment, const std::string& name, int64_t otherwise) {
  const auto value = environment(name);
  if (!value || value->empty()) return otherwise;
  char* end = nullptr;
  const double seconds = std::strtod(value->c_str(), &end);
  constexpr double kMost = 1e6;
  if (*end != '\0' || !(seconds > 0) || seconds > kMost) {
    throw Error(ErrorKind::usage, name + " is '" + *value + "'", "give a positive number of seconds");
  }
  return static_cast<int64_t>(std::ceil(seconds * 1000));
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
}

std::optional<Launch> read_launch(const Environment& environment) {
  const Reader reader(environment);
  if (reader.text("RANK") || reader.text("WORLD_SIZE")) return by_variables(reader);
  if (reader.text("OMPI_COMM_WORLD_RANK") || reader.text("OMPI_COMM_WORLD_SIZE")) return by_mpi(reader);
  if (reader.text("SLURM_STEP_ID") && reader.text("SLURM_PROCID")) return by_slurm(reader);
  return std::nullopt;
}

Timeouts read_timeouts(const Environment& environment) {
  Timeouts timeouts;
  timeouts.start_ms = milliseconds(environment, "LOOP_START_TIMEOUT_S", timeouts.start_ms);
  timeouts.training_ms = milliseconds(environment, "LOOP_COLLECTIVE_TIMEOUT_S", timeouts.training_ms);
  return timeouts;
}

int64_t read_bucket_bytes(const Environment& environment, int64_t otherwise) {
  const auto value = environment(plan::kBucketBytesVariable);
  if (!value || value->empty()) return otherwise;
  if (const auto bytes = plan::bucket_bytes_of(*value)) return *bytes;
  throw Error(ErrorKind::usage, std::string(plan::kBucketBytesVariable) + " is '" + *value + "'",
              "give a positive whole number of bytes");
}

}  // namespace loop::distributed
