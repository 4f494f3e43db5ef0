#include "loop/recompute.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <torch/custom_class.h>

#include <mutex>
#include <utility>
#include <vector>

#include "loop/error.h"

namespace loop {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Run = std::function<Tensor(const Tensor&)>;

/// The generators that work on `device` draws from.
class Generators {
 public:
  explicit Generators(const torch::Device& device) {
    generators_.push_back(at::globalContext().defaultGenerator(torch::kCPU));
    if (!device.is_cpu()) generators_.push_back(at::globalContext().defaultGenerator(device));
  }
  std::vector<Tensor> states() {
    std::vector<Tensor> states;
    for (at::Generator& one : generators_) {
      const std::lock_guard lock(one.mutex());
      states.push_back(one.get_state());
    }
    return states;
  }
  void restore(const std::vector<Tensor>& states) {
    for (size_t i = 0; i < generators_.size(); ++i) {
      const std::lock_guard lock(generators_[i].mutex());
      generators_[i].set_state(states[i]);
    }
  }

 private:
  std::vector<at::Generator> generators_;
};

std::vector<Tensor> copies(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> result;
  for (const Tensor& one : tensors) result.push_back(one.detach().clone());
  return result;
}

void write(const std::vector<Tensor>& to, const std::vector<Tensor>& from) {
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < to.size(); ++i) Tensor(to[i]).copy_(from[i]);
}

/// What decides a run's result beside input and parameters.
struct Surroundings {
  std::vector<Tensor> random;
  std::vector<Tensor> buffers;
  std::vector<bool> training;
  bool autocast = false;
  at::ScalarType autocast_dtype = at::kFloat;
};

std::vector<Tensor> defined_buffers(const torch::nn::Module& block) {
  std::vector<Tensor> buffers;
  for (const Tensor& one : block.buffers())
    if (one.defined()) buffers.push_back(one);
  return buffers;
}

Surroundings look_around(const torch::nn::Module& block, const torch::Device& device) {
  Surroundings now;
  now.random = Generators(device).states();
  now.buffers = copies(defined_buffers(block));
  for (const auto& module : block.modules()) now.training.push_back(module->is_training());
  now.autocast = at::autocast::is_autocast_enabled(device.type());
  now.autocast_dtype = at::autocast::get_autocast_dtype(device.type());
  return now;
}

/// Autocast for one run. Its cache is left alone: a cast made without gradients would have no way back to its
/// parameter for others, and one made in a backward would outlive the step.
class Autocast {
 public:
  Autocast(const torch::Device& device, const Surroundings& wanted)
      : type_(device.type()),
        enabled_(at::autocast::is_autocast_enabled(type_)),
        dtype_(at::autocast::get_autocast_dtype(type_)),
        caching_(at::autocast::is_autocast_cache_enabled()) {
    at::autocast::set_autocast_enabled(type_, wanted.autocast);
    at::autocast::set_autocast_dtype(type_, wanted.autocast_dtype);
    at::autocast::set_autocast_cache_enabled(false);
  }
  ~Autocast() {
    at::autocast::set_autocast_enabled(type_, enabled_);
    at::autocast::set_autocast_dtype(type_, dtype_);
    at::autocast::set_autocast_cache_enabled(caching_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  at::DeviceType type_;
  bool enabled_;
  at::ScalarType dtype_;
  bool caching_;
};

/// Puts a block back into its surroundings at the first run, and at the end into those it was found in.
class Again {
 public:
  Again(torch::nn::Module& block, const torch::Device& device, const Surroundings& then)
      : block_(block), generators_(device), now_(look_around(block, device)), autocast_(device, then) {
    generators_.restore(then.random);
    write(defined_buffers(block_), then.buffers);
    set_training(then.training);
  }
  ~Again() {
    generators_.restore(now_.random);
    write(defined_buffers(block_), now_.buffers);
    set_training(now_.training);
  }
  Again(const Again&) = delete;
  Again& operator=(const Again&) = delete;

 private:
  void set_training(const std::vector<bool>& modes) {
    // `train` of a module sets its children too; they come after it here.
    const auto modules = block_.modules();
    for (size_t i = 0; i < modules.size(); ++i)
      if (modules[i]->is_training() != modes[i]) modules[i]->train(modes[i]);
  }
  torch::nn::Module& block_;
  Generators generators_;
  Surroundings now_;
  Autocast autocast_;
};

/// What the graph keeps of a block.
struct Kept : torch::CustomClassHolder {
  std::shared_ptr<torch::nn::Module> block;
  Run run;
  Surroundings surroundings;
};

class Recompute : public torch::autograd::Function<Recompute> {
 public:
  static Tensor forward(AutogradContext* context, const std::shared_ptr<torch::nn::Module>& block,
                        const Run& run, const Tensor& input, at::TensorList parameters) {
    const auto kept = c10::make_intrusive<Kept>();
    kept->block = block;
    kept->run = run;
    kept->surroundings = look_around(*block, input.device());
    variable_list saved = parameters.vec();
    saved.push_back(input);
    context->save_for_backward(saved);
    context->saved_data["kept"] = c10::IValue::make_capsule(kept);
    const Autocast autocast(input.device(), kept->surroundings);
    return run(input);  // without gradients, as everything in this function
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    if (torch::GradMode::is_enabled()) {
      throw Error(ErrorKind::findings, "a recomputed block can be differentiated only once",
                  "leave out `recompute` where a gradient is differentiated again");
    }
    const variable_list saved = context->get_saved_variables();
    const auto kept = c10::static_intrusive_pointer_cast<Kept>(context->saved_data["kept"].toCapsule());
    // One for each argument of forward: two that are no tensors, the input, the parameters.
    variable_list result(2 + saved.size());
    if (!gradients[0].defined()) return result;
    const Tensor input = saved.back().detach().set_requires_grad(saved.back().requires_grad());
    variable_list wanted(saved.begin(), saved.end() - 1);
    if (input.requires_grad()) wanted.push_back(input);
    const Again again(*kept->block, input.device(), kept->surroundings);
    Tensor output;
    {
      const torch::AutoGradMode with_gradients(true);
      output = kept->run(input);
    }
    if (!output.requires_grad()) return result;
    const variable_list found =
        torch::autograd::grad({output}, wanted, {gradients[0]}, /*retain_graph=*/false,
                              /*create_graph=*/false, /*allow_unused=*/true);
    if (input.requires_grad()) result[2] = found.back();
    for (size_t i = 0; i + 1 < saved.size(); ++i) result[3 + i] = found[i];
    return result;
  }
};

}  // namespace

Tensor recompute(const std::shared_ptr<torch::nn::Module>& block, const Run& run, const Tensor& input) {
  if (!torch::GradMode::is_enabled()) return run(input);
  std::vector<Tensor> parameters;
  for (const Tensor& one : block->parameters())
    if (one.defined() && one.requires_grad()) parameters.push_back(one);
  if (parameters.empty() && !input.requires_grad()) return run(input);
  return Recompute::apply(block, run, input, at::TensorList(parameters));
}

}  // namespace loop
