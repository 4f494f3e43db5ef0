// Rows of a table, with a gradient that costs as much as the rows and not as much as the table.
#pragma once

#include <torch/torch.h>

#include <optional>

namespace loop {

/// `weight` [rows, width], `indices` of any shape, integers in [0, rows) -> [indices…, width], as
/// torch::embedding. Its gradient differs only in the way it takes: where `weight` is a trainable parameter
/// whose `grad` exists (the engine's gradient arena), and the batch names fewer rows than the table has, a
/// backward adds the rows into it in place, in the order of the indices, instead of through a temporary of
/// the table's size. Everything else (no `grad` yet, autograd::grad, create_graph) is torch::embedding's own
/// gradient, second derivatives included. The row `padding_index` gets no gradient.
torch::Tensor embed(const torch::Tensor& indices, const torch::Tensor& weight,
                    std::optional<int64_t> padding_index = std::nullopt);

}  // namespace loop
