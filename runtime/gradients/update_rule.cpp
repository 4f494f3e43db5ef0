#include "runtime/gradients/update_rule.h"

#include <algorithm>
#include <cmath>

#include "loop/error.h"

namespace loop::gradients {
namespace {

double value_of(const HyperValues& hyper, const std::string& optimizer, const std::string& name) {
  for (const auto& [key, value] : hyper) {
    if (key != name) continue;
    if (!std::isfinite(value))
      throw Error(ErrorKind::training,
                  "`" + name + "` of " + optimizer + " is " + std::to_string(value) + " at this update",
                  "Look at the schedule it comes from.");
    return value;
  }
  throw Error(ErrorKind::internal, "`" + name + "` of " + optimizer + " has no value");
}

void check_names(const plan::StepRule& rule, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (!rule.find(name))
      throw Error(ErrorKind::findings, rule.optimizer + " needs the hyper-parameter `" + name + "`");
  for (const plan::NamedExpression& given : rule.hyper)
    if (std::find(names.begin(), names.end(), given.name) == names.end())
      throw Error(ErrorKind::findings, rule.optimizer + " has no hyper-parameter `" + given.name + "`");
}

torch::Tensor part(const torch::Tensor& arena, const Segment& segment) {
  return arena.narrow(0, segment.offset, segment.size);
}

void advance(ParameterGroup& group, const Segment& segment) {
  for (size_t i = 0; i < segment.slot_count; ++i) ++group.slots[segment.first_slot + i].step;
}

void make_states(ParameterGroup& group, size_t count) {
  group.states.clear();
  for (size_t i = 0; i < count; ++i) group.states.push_back(torch::zeros_like(group.parameters));
}

/// torch.optim.SGD: g ← grad + weight_decay·θ; b ← g at the first update, then momentum·b + (1 −
/// dampening)·g; θ ← θ − lr·(nesterov ? g + momentum·b : b). The buffer holds no learning rate, so a schedule
/// acts at once.
class Sgd : public UpdateRule {
 public:
  static const std::vector<std::string>& hyper_names() {
    static const std::vector<std::string> names = {"lr", "momentum", "dampening", "nesterov", "weight_decay"};
    return names;
  }

  explicit Sgd(const plan::StepRule& rule) : optimizer_(rule.optimizer) {
    check_names(rule, hyper_names());
    const plan::Expression* momentum = rule.find("momentum");
    has_buffer_ = momentum->kind != plan::Expression::Kind::constant || momentum->value != 0;
  }

  void prepare(ParameterGroup& group) const override { make_states(group, has_buffer_ ? 1 : 0); }

  void apply(ParameterGroup& group, const HyperValues& hyper) const override {
    const torch::NoGradGuard no_grad;
    const double lr = value_of(hyper, optimizer_, "lr");
    const double momentum = value_of(hyper, optimizer_, "momentum");
    const double dampening = value_of(hyper, optimizer_, "dampening");
    const bool nesterov = value_of(hyper, optimizer_, "nesterov") != 0;
    const double weight_decay = value_of(hyper, optimizer_, "weight_decay");
    for (const Segment& segment : group.touched_segments()) {
      const torch::Tensor parameter = part(group.parameters, segment);
      const torch::Tensor gradient = part(group.gradients, segment);
      const bool first = segment.step == 0;
      std::vector<torch::Tensor> buffers;
      if (has_buffer_) buffers.push_back(part(group.states[0], segment));
      if (has_buffer_ && momentum == 0) {
        // A scheduled momentum that is 0 for now: the update is plain, and the buffer forgets all but this
        // gradient.
        buffers.front().copy_(gradient.add(parameter, weight_decay).mul_(first ? 1 : 1 - dampening));
        buffers.clear();
      }
      at::_fused_sgd_({parameter}, {gradient}, buffers, weight_decay, momentum, lr, dampening, nesterov,
                      /*maximize=*/false, first);
      advance(group, segment);
    }
  }

 private:
  std::string optimizer_;
  bool has_buffer_ = false;
};

/// torch.optim.Adam and AdamW: m ← β1·m + (1 − β1)·g, v ← β2·v + (1 − β2)·g², t = this parameter's update,
/// from 1; θ ← θ − lr·(m/(1 − β1^t)) / (√v/√(1 − β2^t) + eps). Weight decay is added to the gradient (Adam),
/// or shrinks θ by lr·weight_decay first (AdamW).
class Adam : public UpdateRule {
 public:
  static const std::vector<std::string>& hyper_names() {
    static const std::vector<std::string> names = {"lr", "beta1", "beta2", "eps", "weight_decay"};
    return names;
  }

  Adam(const plan::StepRule& rule, bool decoupled) : optimizer_(rule.optimizer), decoupled_(decoupled) {
    check_names(rule, hyper_names());
  }

  void prepare(ParameterGroup& group) const override { make_states(group, 2); }

  void apply(ParameterGroup& group, const HyperValues& hyper) const override {
    const torch::NoGradGuard no_grad;
    const double lr = value_of(hyper, optimizer_, "lr");
    const double beta1 = value_of(hyper, optimizer_, "beta1");
    const double beta2 = value_of(hyper, optimizer_, "beta2");
    const double eps = value_of(hyper, optimizer_, "eps");
    const double weight_decay = value_of(hyper, optimizer_, "weight_decay");
    const auto fused =
        decoupled_ ? static_cast<Fused*>(at::_fused_adamw_) : static_cast<Fused*>(at::_fused_adam_);
    for (const Segment& segment : group.touched_segments()) {
      // The operator wants the number of this update as a tensor, one-based.
      const torch::Tensor step = torch::full({}, static_cast<double>(segment.step + 1), torch::kFloat32);
      const std::vector<torch::Tensor> parameter = {part(group.parameters, segment)};
      const std::vector<torch::Tensor> gradient = {part(group.gradients, segment)};
      const std::vector<torch::Tensor> m = {part(group.states[0], segment)};
      const std::vector<torch::Tensor> v = {part(group.states[1], segment)};
      const std::vector<torch::Tensor> steps = {step};
      fused(parameter, gradient, m, v, {}, steps, lr, beta1, beta2, weight_decay, eps, /*amsgrad=*/false,
            /*maximize=*/false, {}, {});
      advance(group, segment);
    }
  }

 private:
  using Fused = void(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                     at::TensorList, double, double, double, double, double, bool, bool,
                     const std::optional<at::Tensor>&, const std::optional<at::Tensor>&);

  std::string optimizer_;
  bool decoupled_ = false;
};

}  // namespace

std::unique_ptr<UpdateRule> make_update_rule(const plan::StepRule& rule) {
  if (rule.optimizer == "std.optimizers.sgd") return std::make_unique<Sgd>(rule);
  if (rule.optimizer == "std.optimizers.adam") return std::make_unique<Adam>(rule, false);
  if (rule.optimizer == "std.optimizers.adamw") return std::make_unique<Adam>(rule, true);
  throw Error(ErrorKind::findings, "The update rule " + rule.optimizer + " cannot be run in this build",
              "Use std.optimizers.sgd, std.optimizers.adam or std.optimizers.adamw.");
}

}  // namespace loop::gradients
