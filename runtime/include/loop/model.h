// Models: LibTorch modules that map a batch to outputs. A user's model derives from Model and registers a
// factory.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loop/batch.h"
#include "loop/source.h"
#include "runtime/plan/plan.h"

namespace loop {

/// Outputs: [b, L, vocabulary] for sequences, [b, classes] or [b, outputs] otherwise. Must accept b = 0.
class Model : public torch::nn::Module {
 public:
  using torch::nn::Module::Module;
  virtual torch::Tensor forward(const Batch& batch) = 0;
};

using ModelFactory =
    std::function<std::shared_ptr<Model>(const plan::Component& component, const DataInfo& data)>;

/// Makes `name` usable in `model = name(…)`. Registering a name twice throws loop::Error (internal).
void register_model(const std::string& name, ModelFactory factory);

/// Throws loop::Error (findings) for an unknown name (with the known ones) or for arguments that do not fit
/// the data.
std::shared_ptr<Model> make_model(const plan::Component& component, const DataInfo& data);

std::vector<std::string> model_names();

}  // namespace loop
