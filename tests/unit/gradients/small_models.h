// Models small enough to follow by hand.
#pragma once

#include <torch/torch.h>

#include <map>

#include "loop/error.h"
#include "loop/model.h"
#include "tests/support/error_of.h"

namespace loop::testing {

/// Named parameters without any structure; `forward` is unused unless a test sets it.
class Bag : public Model {
 public:
  Bag() = default;
  explicit Bag(const std::vector<std::pair<std::string, torch::Tensor>>& parameters) {
    for (const auto& [name, value] : parameters) add(name, value);
  }
  torch::Tensor& add(const std::string& name, const torch::Tensor& value) {
    register_parameter(name, value);
    return parameters_[name] = named_parameters(false)[name];
  }
  torch::Tensor& operator[](const std::string& name) { return parameters_.at(name); }
  torch::Tensor forward(const Batch& batch) override { return batch.inputs; }

 private:
  std::map<std::string, torch::Tensor> parameters_;
};

inline torch::Tensor values(std::vector<double> numbers) {
  return torch::tensor(numbers, torch::kFloat64);
}

inline plan::Group group_of(const std::string& name, const std::string& glob) {
  plan::Group group;
  group.name = name;
  group.predicate.kind = plan::Predicate::Kind::name_glob;
  group.predicate.glob = glob;
  return group;
}

inline plan::Group rest(const std::string& name) {
  plan::Group group;
  group.name = name;
  group.predicate.kind = plan::Predicate::Kind::others;
  return group;
}

inline plan::Group frozen(plan::Group group) {
  group.frozen = true;
  return group;
}

}  // namespace loop::testing
