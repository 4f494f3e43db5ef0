// Which process of how many this is: what torchrun, Slurm, MPI or `loopc run --ranks` wrote into the
// environment.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace loop::distributed {

struct Launch {
  int64_t rank = 0;
  int64_t size = 1;
  int64_t local_rank = 0;
  int64_t local_size = 1;      // processes on this machine
  std::string master_address;  // where the rendezvous store listens
  int64_t master_port = 0;
  bool store_is_hosted =
      false;             // by the launcher (torchrun's agent, `loopc run --ranks`); else rank 0 hosts it
  int64_t attempt = 0;   // restarts by torchrun before this one; keys of different attempts do not meet
  std::string launcher;  // "torchrun", "Slurm", "MPI", "environment"
};

/// An environment variable's value; nothing when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string&)>;
Environment process_environment();

/// What the environment says; nothing when nobody launched several processes. RANK and WORLD_SIZE come first
/// (torchrun, or by hand), then Open MPI's variables, then those of a Slurm step (not of a batch script: it
/// is no member of the step). Throws loop::Error (usage) for variables that are half set, malformed or
/// contradict each other.
std::optional<Launch> read_launch(const Environment& environment);

/// Limits of waiting for other ranks.
struct Timeouts {
  int64_t start_ms = 300'000;     // until every rank has arrived, and the first window is done
  int64_t training_ms = 100'000;  // afterwards, per collective
};

/// LOOP_START_TIMEOUT_S and LOOP_COLLECTIVE_TIMEOUT_S (seconds, fractions allowed), or the defaults. Throws
/// loop::Error (usage) for anything but a positive number.
Timeouts read_timeouts(const Environment& environment);

/// LOOP_BUCKET_BYTES, the largest bucket of a gradient's reduction, or `otherwise`. Throws loop::Error
/// (usage) for anything but a positive whole number.
int64_t read_bucket_bytes(const Environment& environment, int64_t otherwise);

}  // namespace loop::distributed
