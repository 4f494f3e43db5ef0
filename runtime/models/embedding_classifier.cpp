// A text classifier that forgets the order: the mean of the tokens' vectors, hidden layers, the head.
#include "loop/arguments.h"
#include "loop/embedding.h"
#include "runtime/models/builtin.h"

namespace loop::models {
namespace {

using torch::Tensor;

class EmbeddingClassifier : public Model {
 public:
  EmbeddingClassifier(int64_t vocabulary, int64_t width, const std::vector<int64_t>& hidden, int64_t outputs,
                      std::optional<int64_t> padding)
      : padding_(padding), embedding_(register_module("embedding", torch::nn::Embedding(vocabulary, width))) {
    if (padding_) {
      const torch::NoGradGuard no_grad;
      embedding_->weight[*padding_].zero_();
    }
    torch::nn::ModuleList layers;
    int64_t from = width;
    for (const int64_t to : hidden) {
      layers_.push_back(torch::nn::Linear(from, to));
      from = to;
    }
    layers_.push_back(torch::nn::Linear(from, outputs));
    for (const auto& layer : layers_) layers->push_back(layer);
    register_module("layers", layers);
  }

  /// inputs [b, L] int64 -> [b, outputs]
  Tensor forward(const Batch& batch) override {
    const Tensor& tokens = batch.inputs;
    Tensor x = mean(tokens, embed(tokens, embedding_->weight, padding_));
    for (size_t i = 0; i + 1 < layers_.size(); ++i) x = torch::relu(layers_[i](x));
    return layers_.back()(x);
  }

 private:
  /// [b, L] and [b, L, width] -> [b, width]; a row of nothing but padding gives 0.
  Tensor mean(const Tensor& tokens, const Tensor& vectors) const {
    if (!padding_) return vectors.mean(1);
    const Tensor counts = tokens.ne(*padding_).unsqueeze(2).to(vectors.scalar_type());
    return (vectors * counts).sum(1) / counts.sum(1).clamp_min(1);
  }

  std::optional<int64_t> padding_;
  torch::nn::Embedding embedding_;
  std::vector<torch::nn::Linear> layers_;
};

}  // namespace

std::shared_ptr<Model> make_embedding_classifier(const plan::Component& component, const DataInfo& data) {
  Arguments arguments("model", component);
  const int64_t width = arguments.integer("width", {}, 1);
  const std::vector<int64_t> hidden = arguments.integers("hidden", 1);
  const std::optional<int64_t> padding = arguments.optional_integer("padding", 0);
  const int64_t outputs = output_count(arguments, data);
  arguments.finish();
  if (data.vocabulary <= 0 || data.context <= 0)
    arguments.fail("reads token ids, but the training source gives something else",
                   "Use npy with `vocabulary`.");
  if (padding && *padding >= data.vocabulary)
    arguments.fail("has the padding token " + std::to_string(*padding) + ", outside the vocabulary of " +
                   std::to_string(data.vocabulary));
  return std::make_shared<EmbeddingClassifier>(data.vocabulary, width, hidden, outputs, padding);
}

}  // namespace loop::models
