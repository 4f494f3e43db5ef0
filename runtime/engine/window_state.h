// What is known while one window runs.
#pragma once

#include <torch/torch.h>

#include <optional>
#include <string>
#include <vector>

#include "loop/batch.h"
#include "loop/clocks.h"
#include "runtime/engine/objective.h"
#include "runtime/telemetry/record.h"

namespace loop::engine {

/// One micro-batch between its first and last operation.
struct MicroState {
  size_t index = 0;  // 0-based within the window
  bool first = false;
  bool last = false;
  const Batch* batch = nullptr;
  Counts counts;          // n_rk
  torch::Tensor outputs;  // undefined before `forward`
  torch::Tensor loss;     // undefined before `loss`
  bool backward_done = false;
};

/// What one `loss` gave, not yet read by the host.
struct MicroLosses {
  size_t micro_batch = 0;
  std::vector<torch::Tensor> values;  // one scalar per term, detached
};

/// A value that is not finite, as far as it has been traced.
struct Nonfinite {
  std::string parameter;              // the first whose gradient went bad; empty when the gradient was finite
  std::optional<size_t> micro_batch;  // 0-based; empty when every micro-batch alone was finite
};

struct WindowState {
  // fixed when the window opens
  int64_t number = 0;         // 0-based: windows finished before
  int64_t micro_batches = 0;  // K as run
  int64_t configured_micro_batches = 0;
  WindowTotals totals;
  int64_t horizon = -1;

  // what the micro-batches add
  Counts counts;  // N of every class: of the whole window as soon as `counts_complete`
  bool counts_complete = false;
  std::vector<MicroLosses> losses;  // one per `loss` that was run
  int64_t positions = 0;

  // the gradient's way to the step
  std::optional<bool> unscale_verdict;  // finite, as `unscale` found
  std::optional<bool> step_verdict;     // finite, as the first `step` found
  bool known_finite = false;   // a pass found the gradient finite and nothing since can have changed that
  std::optional<double> norm;  // before the first clip, or at the first step
  bool clipped = false;
  bool stepped = false;  // a `step` was reached
  std::optional<Nonfinite> nonfinite;
  telemetry::Named learning_rates;

  bool applied() const { return stepped && step_verdict.value_or(false); }
  /// The newest verdict, or nothing.
  std::optional<bool> finite() const { return step_verdict ? step_verdict : unscale_verdict; }
};

}  // namespace loop::engine
