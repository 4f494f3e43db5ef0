// Models of flat inputs: `linear`, and `mlp` with hidden layers.
#include <numeric>

#include "loop/arguments.h"
#include "runtime/models/batch_norm.h"
#include "runtime/models/builtin.h"

namespace loop::models {
namespace {

using torch::Tensor;

int64_t feature_count(const Arguments& arguments, const DataInfo& data) {
  const int64_t features =
      std::accumulate(data.input_shape.begin(), data.input_shape.end(), int64_t{1}, std::multiplies<>());
  if (data.input_shape.empty() || features <= 0)
    arguments.fail("reads rows of numbers or images, but the training source gives something else",
                   "Use a source such as csv, npy or idx, or the model gpt for text.");
  return features;
}

class Linear : public Model {
 public:
  Linear(int64_t features, int64_t outputs) {
    // The layer's own initialisation (uniform in ±1/√features), under names without a prefix.
    const torch::nn::Linear layer(features, outputs);
    weight_ = register_parameter("weight", layer->weight);
    bias_ = register_parameter("bias", layer->bias);
  }

  Tensor forward(const Batch& batch) override {
    return torch::linear(batch.inputs.flatten(1), weight_, bias_);
  }

 private:
  Tensor weight_;
  Tensor bias_;
};

class Mlp : public Model {
 public:
  Mlp(int64_t features, const std::vector<int64_t>& hidden, int64_t outputs, std::string activation,
      double dropout, bool batch_norm)
      : activation_(std::move(activation)), dropout_(dropout) {
    torch::nn::ModuleList layers, norms;
    int64_t width = features;
    for (const int64_t next : hidden) {
      layers_.push_back(torch::nn::Linear(width, next));
      layers->push_back(layers_.back());
      if (batch_norm) {
        norms_.push_back(torch::nn::BatchNorm1d(next));
        norms->push_back(norms_.back());
      }
      width = next;
    }
    layers_.push_back(torch::nn::Linear(width, outputs));
    layers->push_back(layers_.back());
    register_module("layers", layers);
    if (batch_norm) register_module("norms", norms);
  }

  /// inputs [b, …] -> [b, outputs]
  Tensor forward(const Batch& batch) override {
    const auto run = [this](const Tensor& inputs) {
      Tensor x = inputs.flatten(1);
      for (size_t i = 0; i + 1 < layers_.size(); ++i) {
        x = layers_[i](x);
        if (!norms_.empty()) x = normalise(norms_[i], x);
        x = activation_ == "relu" ? torch::relu(x) : activation_ == "gelu" ? torch::gelu(x) : torch::tanh(x);
        if (dropout_ > 0) x = torch::dropout(x, dropout_, is_training());
      }
      return layers_.back()(x);
    };
    return norms_.empty() ? run(batch.inputs) : on_counted_rows(batch, run);
  }

 private:
  std::string activation_;
  double dropout_;
  std::vector<torch::nn::Linear> layers_;
  std::vector<torch::nn::BatchNorm1d> norms_;
};

}  // namespace

int64_t output_count(Arguments& arguments, const DataInfo& data) {
  const int64_t wanted = data.classes > 0 ? data.classes : data.outputs;
  const std::optional<int64_t> given = arguments.optional_integer("outputs", 1);
  if (!given && wanted <= 0)
    arguments.fail("needs the argument `outputs`: the training source does not say how many there are");
  return given.value_or(wanted);
}

std::shared_ptr<Model> make_linear(const plan::Component& component, const DataInfo& data) {
  Arguments arguments("model", component);
  const int64_t outputs = output_count(arguments, data);
  arguments.finish();
  return std::make_shared<Linear>(feature_count(arguments, data), outputs);
}

std::shared_ptr<Model> make_mlp(const plan::Component& component, const DataInfo& data) {
  Arguments arguments("model", component);
  const std::vector<int64_t> hidden = arguments.integers("hidden", 1);
  const std::string activation = arguments.choice("activation", {"relu", "gelu", "tanh"});
  const double dropout = arguments.number("dropout", 0.0, 0.0, 1.0);
  const bool batch_norm = arguments.boolean("batch_norm", false);
  const int64_t outputs = output_count(arguments, data);
  arguments.finish();
  return std::make_shared<Mlp>(feature_count(arguments, data), hidden, outputs, activation, dropout,
                               batch_norm);
}

}  // namespace loop::models
