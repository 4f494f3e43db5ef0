// What is known while one window runs.
#pragma once

#include <torch/torch.h>

#include <optional>
#include <string>
#include <vector>

#include "loop/batch.h"
#include "loop/clocks.h"
#include "runtime/amp/loss_scaler.h"
#include "runtime/engine/objective.h"
#include "runtime/telemetry/record.h"

namespace loop::engine {

/// One micro-batch between its first and last operation.
struct MicroState {
  size_t index = 0;  // 0-based within the window
  bool first = false;
  bool last = false;
  const Batch* batch = nullptr;
  std::optional<plan::SyncOn> sync_scope;  // of the `sync_on` around the current operation
  bool synchronises = false;               // decided where `forward` stood
  Counts counts;                           // n_rk
  torch::Tensor outputs;                   // undefined before `forward`
  torch::Tensor loss;                      // undefined before `loss`
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
  std::optional<int64_t> rank;        // whose micro-batch; empty with one rank
};

struct WindowState {
  // fixed when the window opens
  int64_t number = 0;         // 0-based: windows finished before
  int64_t micro_batches = 0;  // K as run
  int64_t configured_micro_batches = 0;
  WindowTotals totals;
  int64_t horizon = -1;
  plan::AmpMode amp = plan::AmpMode::off;
  amp::LossScaler* scaler = nullptr;     // none without fp16
  double opening_scale = 1;              // the scaler's when the window opened
  double loss_scale_divisor = 1;         // D

  // what the micro-batches add
  Counts rank_counts;  // N_r of every class: what this rank has counted so far
  Counts counts;       // N of every class: of the whole window and all ranks as soon as `counts_complete`
  bool counts_complete = false;
  std::vector<MicroLosses> losses;  // one per `loss` that was run
  int64_t positions = 0;

  // what the ranks have told each other
  bool agreed = false;            // since the last loss and backward
  std::vector<double> term_sums;  // Σℓ of every term over all ranks
  int64_t collectives = 0;
  int64_t collective_bytes = 0;
  bool interrupted = false;  // a rank was asked to stop
  double seconds = 0;        // rank 0's
  bool reduced = false;      // the gradient is over all ranks since the last backward
  std::optional<plan::ReduceMode> reduced_by;

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
  /// The verdict of `unscale`, else of `step`, or nothing.
  std::optional<bool> finite() const { return unscale_verdict ? unscale_verdict : step_verdict; }
  /// S as it is now: the scaler's value divided by D, exact because D is a power of two.
  double loss_scale() const { return scaler ? scaler->scale() / loss_scale_divisor : 1; }
};

}  // namespace loop::engine
