// One micro-batch as tensors.
#pragma once

#include <torch/torch.h>

#include <vector>

namespace loop {

/// `inputs`: [b, L] int64 (token ids), [b, c, h, w] or [b, features] in the run's dtype. `targets`: [b, L] or
/// [b] int64 for classes, [b, outputs] in the run's dtype for values. Padding: rows in which `valid` is false
/// and target positions that hold the source's padding value (-100) are neither summed nor counted. A batch
/// may have no rows (a rank that ran out of data).
struct Batch {
  torch::Tensor inputs;
  torch::Tensor targets;
  torch::Tensor valid;              // [b] bool; undefined: every row counts
  int64_t samples = 0;              // rows that count
  int64_t positions = 0;            // elements read, padding included: b·L for sequences, b otherwise
  std::vector<int64_t> sample_ids;  // of the rows that count, in row order
};

/// Target value that marks padding in integer targets, whatever the loss ignores besides.
inline constexpr int64_t kPaddingTarget = -100;

}  // namespace loop
