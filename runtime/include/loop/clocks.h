// The clocks of a run. Which advance always and which only with an applied update is fixed here and nowhere
// else.
#pragma once

#include <cstdint>

#include "runtime/plan/expression.h"
#include "runtime/plan/plan.h"

namespace loop {

/// What one finished window adds.
struct WindowTotals {
  int64_t samples = 0;        // all ranks
  int64_t tokens = 0;         // counted ones, all ranks
  int64_t micro_batches = 0;  // this rank's
  double epochs_after = 0;    // passes over the training source after it
};

struct Clocks {
  // always
  int64_t attempts = 0;       // windows finished, applied or not
  int64_t micro_batches = 0;  // this rank's
  double epochs = 0;  // passes over the training source begun and finished; whole numbers at epoch ends
  int64_t samples_seen = 0;  // all ranks
  int64_t tokens_seen = 0;   // counted ones, all ranks
  int64_t evaluations = 0;
  double seconds = 0;  // of training, over all sessions
  // applied windows only
  int64_t updates = 0;
  int64_t samples = 0;
  int64_t tokens = 0;

  double value(plan::Clock clock) const;
  /// For schedules and conditions: every clock by name, and "horizon" when it is known (≥ 0).
  plan::Lookup lookup(int64_t horizon_updates) const;
  /// Advances one clock for a finished window. `evaluations` and `seconds` do not advance with windows.
  void advance(plan::Clock clock, bool applied, const WindowTotals& window);
  /// Advances every clock for a finished window.
  void window_finished(bool applied, const WindowTotals& window);
};

}  // namespace loop
