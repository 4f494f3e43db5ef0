// The value of E in scale_loss(E) and scale_grad(E).
#pragma once

#include "runtime/engine/objective.h"
#include "runtime/plan/operation.h"

namespace loop::engine {

/// What the symbols of a factor stand for.
struct FactorValues {
  double loss_scale = 1;
  int64_t micro_batches = 1;          // as configured for this window
  int64_t micro_batches_counted = 1;  // as run, empty ones included
  int64_t ranks = 1;
  const Counts* window = nullptr;  // of the finished window, all ranks
  const Counts* rank = nullptr;    // of the finished window, this rank
  const Counts* micro = nullptr;   // of the current micro-batch; null outside one
};

/// Throws loop::Error (training) for a division by a count of 0, (internal) for a micro-batch's count outside
/// one.
double evaluate(const plan::Factor& factor, const FactorValues& values, const Objective& objective);

}  // namespace loop::engine
