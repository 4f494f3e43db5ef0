// What a training step takes, found by running it.
#pragma once

#include <vector>

#include "runtime/engine/averages.h"
#include "runtime/engine/parts.h"
#include "runtime/engine/steps.h"
#include "runtime/engine/window_runner.h"

namespace loop::engine {

/// Runs micro-batches and counts what LibTorch's allocators hand out (loop::AllocationMeter): exact for
/// tensors, the same in every run. Parameters, buffers and clocks are left as they are.
class StepMemory {
 public:
  /// `parts` must outlive it; gradients and optimizer states are not kept. Collective: every rank makes one,
  /// or none does. Throws loop::Error (findings) for a `micro` that does more than add to the gradient.
  explicit StepMemory(Parts& parts);

  /// What stays from step to step: parameters and buffers, gradients (a second time under the canonical
  /// `sync = every` with several ranks), optimizer states, averages.
  int64_t resident_bytes() const { return resident_bytes_; }
  /// With that, the most that one micro-batch of the `samples` longest samples of the training source holds
  /// at once in forward, loss and backward, and the batches that wait for their turn.
  int64_t step_bytes(int64_t samples);

 private:
  Parts& parts_;
  std::vector<int64_t> longest_first_;
  int64_t resident_bytes_ = 0;
  Averages averages_;
  Steps steps_;
  Clocks clocks_;
  WindowRunner windows_;
};

}  // namespace loop::engine
