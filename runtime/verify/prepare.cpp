#include "runtime/verify/prepare.h"

#include <algorithm>

namespace loop::verify {

namespace {

using plan::Operation;
using plan::OpKind;

bool has_step(const std::vector<Operation>& operations) {
  return std::any_of(operations.begin(), operations.end(), [](const Operation& operation) {
    return operation.kind == OpKind::step || has_step(operation.body);
  });
}

/// A step that has judged the gradient is done: parameters stay what they are.
class Unmoved : public plan::RuleKernel {
 public:
  size_t states() const override { return 0; }
  const std::vector<std::string>& norms() const override { return norms_; }
  std::vector<double> scalars(const plan::Lookup&) const override { return {}; }
  double sum_of_squares(size_t, const plan::Arrays&, std::span<const double>, double, int64_t,
                        int64_t) const override {
    return 0;
  }
  void update(const plan::Arrays&, std::span<const double>, double, int64_t, int64_t, bool) const override {}

 private:
  std::vector<std::string> norms_;
};

/// Every operation acts on the gradient in memory, where it is compared.
void unfold(std::vector<Operation>& operations) {
  for (Operation& operation : operations) {
    operation.folded = operation.zeroes = false;
    unfold(operation.body);
  }
}

template <class Norm>
bool is(const torch::nn::Module& module) {
  return dynamic_cast<const Norm*>(&module) != nullptr;
}

bool is_batch_norm(const torch::nn::Module& module) {
  return is<torch::nn::BatchNorm1dImpl>(module) || is<torch::nn::BatchNorm2dImpl>(module) ||
         is<torch::nn::BatchNorm3dImpl>(module);
}

bool is_dropout(const torch::nn::Module& module) {
  return is<torch::nn::DropoutImpl>(module) || is<torch::nn::Dropout2dImpl>(module) ||
         is<torch::nn::Dropout3dImpl>(module) || is<torch::nn::AlphaDropoutImpl>(module) ||
         is<torch::nn::FeatureAlphaDropoutImpl>(module);
}

}  // namespace

Prepared prepare(plan::Plan plan, plan::RuleCompiler compile_rule) {
  Prepared result;
  const auto note = [&result](bool holds, const std::string& text) {
    if (holds) result.notes.push_back(text);
  };
  note(plan.amp.mode != plan::AmpMode::off, "`amp` is off here: the loss scale is 1");
  note(!plan.init_weights.empty(), "the weights are random, not those of " + plan.init_weights);
  plan.dtype = plan::Dtype::fp64;
  plan.device = plan::Device::cpu;
  plan.ranks = 1;
  plan.amp = {};
  plan.init_weights.clear();
  plan.checkpoint.reset();
  plan.resume = "never";
  plan.window.oom = plan::OomPolicy::error;
  if (plan.data.micro_batch_auto) {
    plan.data.micro_batch_auto = false;
    plan.data.micro_batch_samples = 1;
    result.notes.push_back("`micro_batch = auto` is one sample here: the finest split");
  }
  plan.evaluations.clear();
  plan.model.args.erase("recompute");
  const auto dropout = plan.model.args.find("dropout");
  if (dropout != plan.model.args.end() && dropout->is_number() && dropout->get<double>() != 0) {
    *dropout = 0;
    result.notes.push_back("dropout is off here");
  }
  for (const plan::CountClass& one : plan.count_classes) {
    note(one.unit == plan::CountUnit::micro_batch,
         "`per micro_batch` is a mean of micro-batch means by declaration: such a term is compared as "
         "declared");
  }
  // With a step inside `micro` the rules decide where the parameters go, so they stay what they are.
  if (!has_step(plan.micro))
    compile_rule = [](const plan::UpdateRule&, plan::Dtype) { return std::make_shared<Unmoved>(); };
  result.compile_rule = std::move(compile_rule);
  unfold(plan.micro);
  unfold(plan.update);
  result.plan = std::move(plan);
  return result;
}

void set_mode(Model& model, bool freeze_batch_norm) {
  model.train();
  for (const auto& module : model.modules(/*include_self=*/false)) {
    if (is_dropout(*module) || (freeze_batch_norm && is_batch_norm(*module))) module->eval();
  }
}

std::vector<std::string> batch_norms(const Model& model) {
  std::vector<std::string> names;
  for (const auto& item : model.named_modules()) {
    if (is_batch_norm(*item.value())) names.push_back(item.key());
  }
  return names;
}

}  // namespace loop::verify
