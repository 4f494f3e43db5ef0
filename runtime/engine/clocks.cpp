#include "loop/clocks.h"

#include <array>
#include <string_view>

#include "loop/error.h"

namespace loop {

namespace {

using plan::Clock;

constexpr std::array kAll = {Clock::updates,     Clock::attempts, Clock::micro_batches, Clock::epochs,
                             Clock::samples,     Clock::tokens,   Clock::samples_seen,  Clock::tokens_seen,
                             Clock::evaluations, Clock::seconds};

}  // namespace

double Clocks::value(Clock clock) const {
  switch (clock) {
    case Clock::updates:
      return static_cast<double>(updates);
    case Clock::attempts:
      return static_cast<double>(attempts);
    case Clock::micro_batches:
      return static_cast<double>(micro_batches);
    case Clock::epochs:
      return epochs;
    case Clock::samples:
      return static_cast<double>(samples);
    case Clock::tokens:
      return static_cast<double>(tokens);
    case Clock::samples_seen:
      return static_cast<double>(samples_seen);
    case Clock::tokens_seen:
      return static_cast<double>(tokens_seen);
    case Clock::evaluations:
      return static_cast<double>(evaluations);
    case Clock::seconds:
      return seconds;
  }
  throw Error(ErrorKind::internal, "a clock without a value");
}

plan::Lookup Clocks::lookup(int64_t horizon_updates) const {
  return [clocks = *this, horizon_updates](std::string_view name) -> std::optional<double> {
    if (name == "horizon") {
      if (horizon_updates < 0) return std::nullopt;
      return static_cast<double>(horizon_updates);
    }
    for (const Clock clock : kAll) {
      if (name == plan::name(clock)) return clocks.value(clock);
    }
    return std::nullopt;
  };
}

void Clocks::advance(Clock clock, bool applied, const WindowTotals& window) {
  switch (clock) {
    case Clock::attempts:
      ++attempts;
      return;
    case Clock::micro_batches:
      micro_batches += window.micro_batches;
      return;
    case Clock::epochs:
      epochs = window.epochs_after;
      return;
    case Clock::samples_seen:
      samples_seen += window.samples;
      return;
    case Clock::tokens_seen:
      tokens_seen += window.tokens;
      return;
    case Clock::updates:
      updates += applied;
      return;
    case Clock::samples:
      samples += applied ? window.samples : 0;
      return;
    case Clock::tokens:
      tokens += applied ? window.tokens : 0;
      return;
    case Clock::evaluations:
    case Clock::seconds:
      return;
  }
}

void Clocks::window_finished(bool applied, const WindowTotals& window) {
  for (const Clock clock : kAll) advance(clock, applied, window);
}

}  // namespace loop
