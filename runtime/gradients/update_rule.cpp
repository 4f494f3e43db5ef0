#include "runtime/gradients/update_rule.h"

#include <cmath>

#include "loop/error.h"
#include "runtime/gradients/chunks.h"

namespace loop::gradients {
namespace {

plan::Arrays memory_of(ParameterGroup& group) {
  plan::Arrays arrays = {group.parameters.data_ptr(), group.gradients.data_ptr()};
  for (const torch::Tensor& state : group.states) arrays.push_back(state.data_ptr());
  return arrays;
}

/// Every touched slot by itself: a norm is over one tensor.
std::vector<Segment> touched_tensors(const ParameterGroup& group) {
  std::vector<Segment> segments;
  for (size_t i = 0; i < group.slots.size(); ++i) {
    const Slot& slot = group.slots[i];
    if (slot.touched) segments.push_back({slot.offset, slot.size, slot.step, i, 1});
  }
  return segments;
}

/// What a rule's scalars read.
class Names {
 public:
  Names(const HyperValues& hyper, int64_t step) : hyper_(hyper), step_(static_cast<double>(step)) {}

  void add_norm(const std::string& name, double value) { norms_.emplace_back(name, value); }
  std::optional<double> operator()(std::string_view name) const {
    if (name == "step") return step_;
    for (const HyperValues* known : {&hyper_, &norms_}) {
      for (const auto& [key, value] : *known) {
        if (key == name) return value;
      }
    }
    return std::nullopt;
  }

 private:
  const HyperValues& hyper_;
  HyperValues norms_;
  double step_;
};

double norm_over(const plan::RuleKernel& kernel, size_t norm, const plan::Arrays& arrays,
                 const std::vector<double>& scalars, double factor, const Segment& segment) {
  const int64_t end = segment.offset + segment.size;
  std::vector<double> squares(static_cast<size_t>((segment.size + kChunkElements - 1) / kChunkElements));
  for_each_range(segment.offset, end, [&](int64_t from, int64_t to) {
    squares[static_cast<size_t>((from - segment.offset) / kChunkElements)] =
        kernel.sum_of_squares(norm, arrays, scalars, factor, from, to);
  });
  return std::sqrt(tree_sum(squares.data(), squares.size()));
}

}  // namespace

void UpdateRule::prepare(ParameterGroup& group) {
  group.states.clear();
  for (size_t i = 0; i < rule_.states.size(); ++i)
    group.states.push_back(torch::zeros_like(group.parameters));
  if (kernel_ || !compile_) return;
  const bool wide = group.parameters.scalar_type() == torch::kFloat64;
  kernel_ = compile_(rule_, wide ? plan::Dtype::fp64 : plan::Dtype::fp32);
}

void UpdateRule::apply(ParameterGroup& group, const HyperValues& hyper, bool zero) const {
  if (!kernel_) throw Error(ErrorKind::internal, "the update rule " + rule_.name + " has not been compiled");
  const plan::Arrays arrays = memory_of(group);
  const double factor = group.factor;
  for (const Segment& segment :
       kernel_->norms().empty() ? group.touched_segments() : touched_tensors(group)) {
    Names names(hyper, segment.step + 1);
    const plan::Lookup lookup = [&names](std::string_view name) { return names(name); };
    for (size_t j = 0; j < kernel_->norms().size(); ++j) {
      names.add_norm(kernel_->norms()[j],
                     norm_over(*kernel_, j, arrays, kernel_->scalars(lookup), factor, segment));
    }
    const std::vector<double> scalars = kernel_->scalars(lookup);
    for_each_range(segment.offset, segment.offset + segment.size, [&](int64_t from, int64_t to) {
      kernel_->update(arrays, scalars, factor, from, to, zero);
    });
    for (size_t i = 0; i < segment.slot_count; ++i) ++group.slots[segment.first_slot + i].step;
  }
  group.parameters_written();
  if (zero) group.gradients_zeroed();
}

}  // namespace loop::gradients
