#include "loop/embedding.h"

#include <torch/csrc/autograd/graph_task.h>

namespace loop {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kNoPadding = -1;

/// A backward that adds to `grad`, as opposed to one that returns gradients or builds a graph of its own.
bool accumulates() {
  const auto* wanted = torch::autograd::get_current_graph_task_exec_info();
  return wanted && wanted->empty() && !torch::GradMode::is_enabled();
}

/// Adds rows[i] to table[indices[i]], in the order of i for every row of the table.
void add_rows(Tensor table, const Tensor& indices, const Tensor& rows) {
  if (table.is_cpu()) {
    table.index_add_(0, indices, rows);
  } else {
    // index_add_ is atomic on a GPU, so its order is not fixed; this one sorts first.
    table.index_put_({indices.to(torch::kInt64)}, rows, /*accumulate=*/true);
  }
}

class Rows : public torch::autograd::Function<Rows> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& weight, const Tensor& indices,
                        int64_t padding_index) {
    context->save_for_backward({indices});
    // Not among the saved variables: the gradient does not depend on the values, which may change before.
    context->saved_data["weight"] = weight;
    context->saved_data["padding_index"] = padding_index;
    return at::embedding(weight, indices, padding_index);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    if (!gradients[0].defined()) return {Tensor(), Tensor(), Tensor()};
    const Tensor indices = context->get_saved_variables()[0];
    const Tensor weight = context->saved_data["weight"].toTensor();
    const int64_t padding_index = context->saved_data["padding_index"].toInt();
    const Tensor& arena = weight.grad();
    const bool in_place = accumulates() && arena.defined() && arena.layout() == torch::kStrided &&
                          arena.scalar_type() == gradients[0].scalar_type() &&
                          indices.numel() < weight.size(0);
    if (!in_place) {
      return {at::embedding_backward(gradients[0], indices, weight.size(0), padding_index,
                                     /*scale_grad_by_freq=*/false, /*sparse=*/false),
              Tensor(), Tensor()};
    }
    const Tensor flat = indices.flatten();
    Tensor rows = gradients[0].reshape({flat.numel(), weight.size(1)});
    if (padding_index != kNoPadding) rows = rows.masked_fill((flat == padding_index).unsqueeze(1), 0);
    add_rows(arena, flat, rows);
    // Defined, since the parameter was reached; nothing, since its part is in place. What waits for this
    // parameter's gradient (tied uses, the reduction over ranks) is told after this function, as always.
    const Tensor nothing = at::sparse_coo_tensor(torch::empty({1, 0}, indices.options().dtype(torch::kInt64)),
                                                 rows.new_empty({0, weight.size(1)}), weight.sizes(),
                                                 rows.options().layout(torch::kSparse));
    return {nothing, Tensor(), Tensor()};
  }
};

}  // namespace

Tensor embed(const Tensor& indices, const Tensor& weight, std::optional<int64_t> padding_index) {
  const bool parameter = weight.requires_grad() && weight.is_leaf() && torch::GradMode::is_enabled();
  const int64_t padding = padding_index.value_or(kNoPadding);
  return parameter ? Rows::apply(weight, indices, padding) : at::embedding(weight, indices, padding);
}

}  // namespace loop
