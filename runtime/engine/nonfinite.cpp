#include "runtime/engine/nonfinite.h"

#include <algorithm>
#include <cmath>

#include "loop/error.h"

namespace loop::engine {

namespace {

std::string number(double value) {
  return plan::to_text(plan::Expression::constant(value));
}

/// Keeps gradients and touched bits over a second run of a window.
class GradientGuard {
 public:
  explicit GradientGuard(gradients::Parameters& parameters) : parameters_(parameters) {
    for (const gradients::ParameterGroup& group : parameters_.groups()) {
      gradients_.push_back(group.gradients.clone());
      for (const gradients::Slot& slot : group.slots) touched_.push_back(slot.touched);
    }
  }
  ~GradientGuard() {
    size_t bit = 0;
    for (size_t i = 0; i < gradients_.size(); ++i) {
      gradients::ParameterGroup& group = parameters_.groups()[i];
      group.gradients.copy_(gradients_[i]);
      for (gradients::Slot& slot : group.slots) slot.touched = touched_[bit++];
    }
  }
  GradientGuard(const GradientGuard&) = delete;
  GradientGuard& operator=(const GradientGuard&) = delete;

 private:
  gradients::Parameters& parameters_;
  std::vector<torch::Tensor> gradients_;
  std::vector<bool> touched_;
};

/// What the loss scale has to do with it, and what then helps.
struct Advice {
  std::string state;
  std::string repair;
};

Advice advice(const amp::LossScaler* scaler) {
  const std::string usual = "lower the learning rate or clip the gradient";
  if (!scaler) return {"", usual};
  const std::string scale = number(scaler->scale());
  if (scaler->at_floor()) {
    return {"; the loss scale is at its floor, min_scale = " + scale,
            usual + ", or use amp = bf16: at this scale the gradient itself leaves fp16's range"};
  }
  return {"; the loss scale is now " + scale,
          "let it begin lower (amp = fp16(init_scale: …)), fall faster (backoff_factor), or " + usual};
}

}  // namespace

void NonfinitePolicy::finished(bool applied, int64_t updates_applied, const std::string& reason,
                               const amp::LossScaler* scaler) {
  if (applied) {
    in_a_row_ = 0;
    return;
  }
  ++in_a_row_;
  const std::string after = " (after " + std::to_string(updates_applied) + " applied updates)";
  const auto [state, repair] = advice(scaler);
  if (rule_.action == plan::NonfiniteAction::stop) {
    const std::string ordinary =
        scaler && !scaler->at_floor() ? ", as fp16 has to until its loss scale fits" : "";
    throw Error(ErrorKind::training, reason + after + state,
                repair + "; or skip such updates" + ordinary + ": nonfinite { action = skip }");
  }
  if (in_a_row_ >= rule_.limit) {
    throw Error(ErrorKind::training,
                std::to_string(in_a_row_) + " updates in a row were skipped" + after + ": " + reason + state,
                repair + "; nonfinite { limit = … } sets how many may be skipped in a row");
  }
}

std::string to_text(const Nonfinite& found, int64_t micro_batches) {
  std::string text = "the gradient is not finite";
  if (!found.parameter.empty()) text += ", first in " + found.parameter;
  if (found.rank) text += ", rank " + std::to_string(*found.rank);
  if (found.micro_batch) {
    text +=
        ", micro-batch " + std::to_string(*found.micro_batch + 1) + " of " + std::to_string(micro_batches);
  } else {
    text += ", although each micro-batch alone is finite";
  }
  return text;
}

std::optional<size_t> bad_loss(const WindowState& window) {
  for (const MicroLosses& losses : window.losses) {
    const bool bad = std::any_of(losses.values.begin(), losses.values.end(), [](const torch::Tensor& value) {
      return !std::isfinite(value.item<double>());
    });
    if (bad) return losses.micro_batch;
  }
  return std::nullopt;
}

std::optional<size_t> bad_gradient(gradients::Parameters& parameters, size_t micro_batches,
                                   const std::function<void(size_t)>& run_again) {
  const GradientGuard guard(parameters);
  for (size_t k = 0; k < micro_batches; ++k) {
    parameters.zero_gradients();
    run_again(k);
    if (parameters.first_nonfinite()) return k;
  }
  return std::nullopt;
}

}  // namespace loop::engine
