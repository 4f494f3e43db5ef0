#include "bench/peers/pace.h"

#include <sys/resource.h>

#include <chrono>
#include <iostream>

namespace bench {

namespace {

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Of all threads.
double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

bool Pace::begin() {
  std::cout << "ready" << std::endl;
  return next();
}

bool Pace::next() {
  if (!(std::cin >> left_)) return false;
  cpu_ = cpu_seconds();
  wall_ = wall_seconds();
  return true;
}

bool Pace::window_done() {
  if (--left_ > 0) return true;
  const double wall = wall_seconds() - wall_, cpu = cpu_seconds() - cpu_;
  std::cout << "{\"wall\": " << wall << ", \"cpu\": " << cpu << "}" << std::endl;
  return next();
}

}  // namespace bench
