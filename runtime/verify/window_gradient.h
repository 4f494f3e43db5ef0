// One window as the spec executes it, on R ranks that run side by side in this process.
#pragma once

#include <vector>

#include "runtime/engine/parts.h"
#include "runtime/engine/window_state.h"

namespace loop::verify {

/// A window and everything it is executed with.
struct Setting {
  engine::Parts& parts;
  std::vector<data::WindowPlan> ranks;  // one per rank, equal K
  Clocks clocks;                        // when the window opens
  int64_t horizon = -1;
  bool clip = true;  // false: clips are passed over
};

struct SpecGradient {
  std::vector<torch::Tensor> flat;     // per rank: what `step` gets, flat FP64 in slot order
  engine::Counts counts;               // N of every class, over all ranks
  std::vector<plan::Operation> clips;  // that were executed on the way, in order
  double moved = 0;                    // largest change of a parameter before the last gradient was complete
};

/// Executes the plan's two blocks operation by operation with the engine's own operations, each on every rank
/// before the next one; reductions happen where the plan has them. Parameters, buffers and gradients are
/// afterwards what they were. Throws loop::Error (findings) when the window cannot be executed: a group that
/// no step reached, an operation out of place, ranks that would wait for each other.
SpecGradient spec_gradient(const Setting& setting);

/// The batches of every micro-batch: [k][rank].
std::vector<std::vector<Batch>> batches(const Setting& setting);

/// Parameters and buffers as they were at construction, and no gradient, at the end of the scope.
class ModelGuard {
 public:
  explicit ModelGuard(engine::Parts& parts);
  ~ModelGuard();
  ModelGuard(const ModelGuard&) = delete;
  ModelGuard& operator=(const ModelGuard&) = delete;

 private:
  engine::Parts& parts_;
  std::vector<std::pair<torch::Tensor, torch::Tensor>> saved_;
};

}  // namespace loop::verify
