// Less memory for one more forward pass: what lies inside a block is not kept for backward but computed
// again.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>

namespace loop {

/// `run(input)` with the same value and the same gradients, for the input and for the parameters of `block`.
/// Between forward and backward only `input` is kept; the backward runs the block again to find the rest.
/// The second run sees what the first one saw: random numbers (those of the default generators), buffers,
/// training or evaluation mode, autocast; buffers and generators are afterwards as if there had been one run.
/// Parameters get their gradients by way of the graph around the block, so that a parameter used elsewhere as
/// well is complete only when all its uses are. `run` must use no trainable tensor but `input` and the
/// parameters of `block`. Without anything to differentiate it is `run(input)`. A second derivative throws
/// loop::Error.
torch::Tensor recompute(const std::shared_ptr<torch::nn::Module>& block,
                        const std::function<torch::Tensor(const torch::Tensor&)>& run,
                        const torch::Tensor& input);

/// The same for a block with `forward(input)`.
template <class Block>
torch::Tensor recompute(const std::shared_ptr<Block>& block, const torch::Tensor& input) {
  // The graph keeps `block` alive; a copy in `run` would do the same.
  return recompute(
      block, [raw = block.get()](const torch::Tensor& x) { return raw->forward(x); }, input);
}

}  // namespace loop
