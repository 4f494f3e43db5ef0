// Starting other programs: the runtime in the foreground, and short questions to tools.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace loop::driver {

/// How a program ended.
struct Ended {
  int status = 0;  // its exit status when `signal` is 0
  int signal = 0;  // the signal that ended it
};

/// Runs a program with `input` as its standard input and our own standard output and error, and waits. Ctrl-C
/// at a terminal reaches both by itself; any other SIGINT, SIGTERM or SIGHUP to this process is passed on,
/// once for a burst of them. The program is told to end when this process dies. Throws std::system_error when
/// it cannot be started.
Ended run_in_foreground(const std::vector<std::string>& command, const std::string& input);

/// What a program printed. `started` is false when there is no such program.
struct Answer {
  bool started = false;
  bool timed_out = false;
  Ended ended;
  std::string output;
  std::string errors;

  bool good() const { return started && !timed_out && ended.status == 0 && ended.signal == 0; }
};

/// Runs a program (searched in PATH) with `input` as its standard input and collects its output. It is ended
/// after `limit`.
Answer ask(const std::vector<std::string>& command, std::chrono::milliseconds limit,
           const std::string& input = "");

}  // namespace loop::driver
