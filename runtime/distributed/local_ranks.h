// `--ranks N` on one machine: this executable again, once per rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace loop::distributed {

/// Starts `command` `ranks` times with the environment of a launch (RANK, WORLD_SIZE … and a store on `port`
/// that this process hosts), each with `input` as its standard input, and waits for all. Rank 0 has our
/// standard output and error; of the others only the standard error is shown, each line with "[rank N] " in
/// front. SIGINT, SIGTERM and SIGHUP are passed on to every rank. Returns the exit code of the first rank
/// that failed, else 0; a rank that a signal ends counts as 5. When a rank fails, the others get a moment to
/// end by themselves and are then ended.
int run_local_ranks(const std::vector<std::string>& command, int64_t ranks, int64_t port,
                    const std::string& input);

}  // namespace loop::distributed
