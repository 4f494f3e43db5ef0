// Which targets of a batch count. Losses, metrics and counts share these masks, so that numerator and
// denominator agree.
#pragma once

#include <torch/torch.h>

#include <optional>

#include "loop/batch.h"

namespace loop::losses {

/// Bool, shaped as `batch.targets`: neither padding, nor `ignore`, nor in a row that does not count.
/// Real-valued targets have no padding value of their own: only `ignore` and `valid` apply.
torch::Tensor counted_mask(const Batch& batch, std::optional<double> ignore);

/// Targets that count for losses with one value per integer target; for real-valued targets the samples that
/// count.
int64_t counted_targets(const Batch& batch, std::optional<double> ignore);

/// Rows with at least one target that counts.
int64_t counted_samples(const Batch& batch, std::optional<double> ignore);

/// The rows that count, in the outputs' shape per sample: `outputs` and `targets` [n, elements], `share` [n,
/// elements] with 1/(counted elements of the row) where the element counts and 0 elsewhere. Elements that do
/// not count are 0 in `outputs` and `targets`, so nothing they hold (not even NaN) reaches value or gradient.
struct CountedValues {
  torch::Tensor outputs;
  torch::Tensor targets;
  torch::Tensor share;
};

/// Throws loop::Error (findings) when outputs and targets have different numbers of elements per sample;
/// `who` is for the message: "loss mse".
CountedValues counted_values(const torch::Tensor& outputs, const Batch& batch, std::optional<double> ignore,
                             const std::string& who);

}  // namespace loop::losses
