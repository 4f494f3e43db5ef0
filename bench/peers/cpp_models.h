// The models of the workloads by LibTorch's modules, with Loop's parameter names.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <nlohmann/json.hpp>

namespace bench {

class Net : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(const torch::Tensor& inputs) = 0;
};

/// `workload`: the contents of workload.json. Throws std::runtime_error for a kind that is not known.
std::shared_ptr<Net> make_net(const nlohmann::json& workload);

}  // namespace bench
