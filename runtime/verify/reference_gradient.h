// The same window as one big batch: one forward pass over all its samples, Σ_t w_t/N_t · Σ ℓ_t, one backward.
#pragma once

#include "runtime/verify/window_gradient.h"

namespace loop::verify {

struct BigBatch {
  Batch batch;
  /// Rows of every micro-batch in it: [k][rank] -> {first row, rows}.
  std::vector<std::vector<std::pair<int64_t, int64_t>>> rows;
  engine::Counts counts;  // N of every class, counted in the big batch
};

/// The samples of all ranks and micro-batches in one batch, padded to the longest; in reverse order when
/// `reversed` (then `rows` is empty).
BigBatch big_batch(const Setting& setting, bool reversed = false);

/// Rows [first, first + count) of a batch as a batch.
Batch rows_of(const Batch& batch, int64_t first, int64_t count);

/// Gradient of the objective, flat FP64 in slot order; with `clips` applied to it in order.
torch::Tensor reference_gradient(const Setting& setting, const BigBatch& big,
                                 const std::vector<plan::Operation>& clips);

/// Σ ℓ_t per term, of the whole batch and summed over its micro-batches' rows, from the same outputs.
struct TermSums {
  std::vector<double> whole, split;
};
TermSums term_sums(const Setting& setting, const BigBatch& big);

/// Gradients of Σ ℓ_t of single micro-batches, one column per (micro-batch, rank, term), [parameters].
struct Part {
  size_t micro_batch = 0, rank = 0, term = 0;
  double counted = 0;  // n_rk of the term's class
  torch::Tensor gradient;
};
std::vector<Part> micro_gradients(const Setting& setting);

}  // namespace loop::verify
