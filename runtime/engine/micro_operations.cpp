#include "runtime/engine/micro_operations.h"

#include "loop/error.h"

namespace loop::engine {

FactorValues factor_values(const WindowState& window, const MicroState* micro, int64_t ranks) {
  FactorValues values;
  values.loss_scale = window.loss_scale();
  values.micro_batches = window.configured_micro_batches;
  values.micro_batches_counted = window.micro_batches;
  values.ranks = ranks;
  values.window = &window.counts;
  values.rank = &window.rank_counts;
  values.micro = micro ? &micro->counts : nullptr;
  return values;
}

void MicroOperations::forward(MicroState& micro) {
  micro.outputs = model_.forward(*micro.batch);
  micro.loss = torch::Tensor();
  micro.backward_done = false;
  micro.synchronises = ranks_.synchronises(micro);
}

void MicroOperations::loss(plan::LossMode mode, MicroState& micro, WindowState& window) {
  if (!micro.outputs.defined()) throw Error(ErrorKind::internal, "`loss` before any `forward`");
  const Objective::Terms terms = objective_.evaluate(micro.outputs, *micro.batch, mode);
  window.agreed = false;
  if (!window.counts_complete) add(window.rank_counts, micro.counts);
  micro.loss = objective_.combine(terms, mode, micro.counts, window.counts);
  MicroLosses losses{micro.index, {}};
  for (const torch::Tensor& value : terms.values) losses.values.push_back(value.detach());
  window.losses.push_back(std::move(losses));
}

void MicroOperations::scale_loss(const plan::Factor& factor, MicroState& micro, const WindowState& window) {
  if (micro.backward_done) return;
  if (!micro.loss.defined()) throw Error(ErrorKind::internal, "`scale_loss` before `loss`");
  const double value = evaluate(factor, factor_values(window, &micro, ranks_.ranks().size()), objective_);
  if (value != 1) micro.loss = micro.loss * value;
}

void MicroOperations::backward(MicroState& micro, WindowState& window) {
  if (!micro.loss.defined()) throw Error(ErrorKind::internal, "`backward` before `loss`");
  if (micro.backward_done) throw Error(ErrorKind::internal, "`backward` a second time for one micro-batch");
  if (!micro.loss.requires_grad()) {
    throw Error(ErrorKind::findings, "the loss does not depend on any trainable parameter",
                "check which parameters are frozen, and that the model's outputs use the others");
  }
  window.agreed = false;
  window.reduced = false;
  if (micro.synchronises) {
    ranks_.before_backward(window);
    micro.loss.backward();
    ranks_.after_backward(micro, window);
  } else {
    ranks_.finish();
    micro.loss.backward();
  }
  micro.loss = torch::Tensor();
  micro.outputs = torch::Tensor();
  micro.backward_done = true;
  window.known_finite = false;
  window.step_verdict.reset();
}

}  // namespace loop::engine
