// The factor that every micro-batch's gradient sum has in the gradient that `step` gets, found by least
// squares.
#pragma once

#include "runtime/verify/reference_gradient.h"

namespace loop::verify {

struct FoundFactor {
  size_t micro_batch = 0, rank = 0, term = 0;  // 0-based
  double counted = 0;                          // n_rk
  double found = 0;                            // c
  double right = 0;                            // w_t / N_t
};

struct Factors {
  std::vector<FoundFactor> list;  // without micro-batches whose gradient is 0
  double residual = 0;            // ‖g − Σ c·g_rk‖ / ‖g‖: what no choice of factors explains
  bool explains() const { return residual < 1e-6; }
  /// Every factor is the right one.
  bool right() const;
};

/// Solves gradient ≈ Σ c · part over the parts. Nothing when the window has more parts than can be told
/// apart.
std::optional<Factors> find_factors(const Setting& setting, const BigBatch& big,
                                    const torch::Tensor& gradient);

}  // namespace loop::verify
