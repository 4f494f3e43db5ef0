// The loss scale of fp16: a number that lifts small gradients into fp16's range, grows while all goes well
// and backs off when a gradient overflows.
#pragma once

#include <cstdint>

#include "runtime/plan/plan.h"

namespace loop::amp {

/// Everything that a scaler has to remember: what a checkpoint keeps.
struct ScalerState {
  double scale = 65536;
  int64_t applied_in_a_row = 0;  // since the scale changed last; below growth_interval
  friend bool operator==(const ScalerState&, const ScalerState&) = default;
};

/// PyTorch's GradScaler, with a floor. Numbers are rounded as there: the scale is always an fp32 number.
///   a gradient that is not finite: scale ← max(scale · backoff_factor, min_scale); the count begins again
///   growth_interval good ones in a row: scale ← scale · growth_factor, unless that leaves fp32's range
/// The same on every rank as long as the ranks agree on what they call `update` with.
class LossScaler {
 public:
  /// Throws loop::Error (findings) for numbers with which the scale would not behave: a growth below 1, a
  /// backoff outside (0, 1), a scale that is no positive fp32 number, or a first scale below the floor.
  explicit LossScaler(const plan::Amp& rule);

  double scale() const { return state_.scale; }
  /// No further overflow can lower the scale.
  bool at_floor() const { return state_.scale <= rule_.min_scale; }
  const plan::Amp& rule() const { return rule_; }

  /// Once per window that reached its `update_scale`, with the window's verdict.
  void update(bool finite);

  const ScalerState& state() const { return state_; }
  /// Goes on from a state that was saved. Throws loop::Error (usage) for one that no scaler can have had.
  void restore(const ScalerState& state);

 private:
  plan::Amp rule_;
  ScalerState state_;
};

}  // namespace loop::amp
