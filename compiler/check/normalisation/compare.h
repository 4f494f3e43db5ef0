// The gradient at one place against what the objective asks for there: 1/N_t, every micro-batch once, over
// all ranks.
#pragma once

#include <optional>
#include <vector>

#include "compiler/check/normalisation/gradient.h"
#include "compiler/check/normalisation/identities.h"

namespace loop::check {

/// A part whose factor is wrong.
struct FactorMismatch {
  int micro = 1;
  int count_class = 0;
  Summand found;      // the first of several summands
  bool sum = false;   // several summands that do not add up to one product
  Monomial quotient;  // found / right, in normal form, without the loss scale
  Monomial scale;     // the powers of the loss scale that are left
  int reductions = 0;
};

struct Comparison {
  bool empty = false;
  std::vector<int> stale_windows;        // older windows that are still in it
  std::vector<int> missing;              // micro-batches that are not in it
  std::vector<int> local;                // micro-batches that are only this rank's own
  std::optional<FactorMismatch> scale;   // a power of the loss scale is left
  std::optional<FactorMismatch> factor;  // apart from the loss scale
  bool right() const {
    return !empty && stale_windows.empty() && missing.empty() && local.empty() && !scale && !factor;
  }
};

/// `micro_batches`: how many the window has; `optional_micro`: one without counted units, which need not be
/// there (0: none).
Comparison compare(const Gradient& gradient, int window, int micro_batches, int optional_micro, bool one_rank,
                   size_t classes, const Identities& identities);

}  // namespace loop::check
