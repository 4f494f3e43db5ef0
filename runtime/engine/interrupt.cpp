#include "runtime/engine/interrupt.h"

#include <signal.h>
#include <unistd.h>

namespace loop::engine {

namespace {

volatile sig_atomic_t interrupted = 0;

void on_signal(int) {
  if (interrupted) _exit(kInterruptedExitCode);
  interrupted = 1;
}

}  // namespace

struct InterruptGuard::Saved {
  struct sigaction interrupt;
  struct sigaction terminate;
};

InterruptGuard::InterruptGuard() : saved_(new Saved) {
  interrupted = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &saved_->interrupt);
  sigaction(SIGTERM, &action, &saved_->terminate);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &saved_->interrupt, nullptr);
  sigaction(SIGTERM, &saved_->terminate, nullptr);
  delete saved_;
}

bool InterruptGuard::requested() const {
  return interrupted != 0;
}

}  // namespace loop::engine
