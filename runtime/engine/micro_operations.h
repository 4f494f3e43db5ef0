// The operations of one micro-batch: forward, loss, scale_loss, backward.
#pragma once

#include "loop/model.h"
#include "runtime/engine/factor.h"
#include "runtime/engine/objective.h"
#include "runtime/engine/rank_sync.h"
#include "runtime/engine/window_state.h"
#include "runtime/plan/operation.h"

namespace loop::engine {

class MicroOperations {
 public:
  MicroOperations(Model& model, const Objective& objective, RankSync& ranks)
      : model_(model), objective_(objective), ranks_(ranks) {}

  void forward(MicroState& micro);
  /// Every term's value by `mode`; its sums are kept for the window's report, its counts are added to the
  /// window's. Throws loop::Error (internal) before any forward.
  void loss(plan::LossMode mode, MicroState& micro, WindowState& window);
  /// Multiplies the loss; after `backward` it has no effect. Throws loop::Error (internal) before `loss`.
  void scale_loss(const plan::Factor& factor, MicroState& micro, const WindowState& window);
  /// Adds the loss's gradient to the accumulated one, reduces it if this micro-batch synchronises, and lets
  /// go of the graph. Throws loop::Error (internal) before `loss` or a second time.
  void backward(MicroState& micro, WindowState& window);

 private:
  Model& model_;
  const Objective& objective_;
  RankSync& ranks_;
};

/// What a factor's symbols stand for in this window.
FactorValues factor_values(const WindowState& window, const MicroState* micro, int64_t ranks);

}  // namespace loop::engine
