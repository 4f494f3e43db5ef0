// BatchNorm with the two cases a training loop meets and the plain module does not survive: a batch without
// rows, and one with a single value per channel.
#pragma once

#include <torch/torch.h>

#include "loop/batch.h"
#include "loop/error.h"

namespace loop::models {

/// `norm`: BatchNorm1d for [b, c], BatchNorm2d for [b, c, h, w]. No rows: no statistics are taken and none
/// are changed. One value per channel has no variance: loop::Error (training).
template <class Norm>
torch::Tensor normalise(Norm& norm, const torch::Tensor& x) {
  if (x.size(0) == 0) {
    std::vector<int64_t> channels(static_cast<size_t>(x.dim()), 1);
    channels[1] = x.size(1);
    return x * norm->weight.view(channels) + norm->bias.view(channels);
  }
  if (norm->is_training() && x.numel() == x.size(1))
    throw Error(ErrorKind::training, "A micro-batch of one sample has no batch statistics for BatchNorm",
                "Set `short = drop` in `data`, a larger `micro_batch`, or `batch_norm = frozen`.");
  return norm(x);
}

/// Runs `model` on the rows that count and returns zeros for the padding rows between them, which so have no
/// part in batch statistics.
template <class Run>
torch::Tensor on_counted_rows(const Batch& batch, const Run& model) {
  if (!batch.valid.defined() || batch.valid.all().item<bool>()) return model(batch.inputs);
  const torch::Tensor rows = batch.valid.nonzero().squeeze(1);
  const torch::Tensor outputs = model(batch.inputs.index_select(0, rows));
  std::vector<int64_t> shape = outputs.sizes().vec();
  shape[0] = batch.inputs.size(0);
  return torch::zeros(shape, outputs.options()).index_copy(0, rows, outputs);
}

}  // namespace loop::models
