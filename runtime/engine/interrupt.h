// SIGINT and SIGTERM: the first asks the run to finish its window, the second ends the process at once.
#pragma once

namespace loop::engine {

/// Exit status of a run that was asked to stop: 128 + SIGINT.
inline constexpr int kInterruptedExitCode = 130;

/// While one lives, SIGINT and SIGTERM only set a flag. The handlers before it are restored afterwards.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  bool requested() const;

 private:
  struct Saved;
  Saved* saved_;
};

}  // namespace loop::engine
