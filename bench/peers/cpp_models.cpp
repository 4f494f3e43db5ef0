#include "bench/peers/cpp_models.h"

#include <stdexcept>
#include <vector>

namespace bench {

namespace {

using torch::Tensor;
namespace nn = torch::nn;

class Mlp : public Net {
 public:
  explicit Mlp(const std::vector<int64_t>& widths) {
    nn::ModuleList list;
    for (size_t i = 0; i + 1 < widths.size(); ++i) {
      layers_.emplace_back(widths[i], widths[i + 1]);
      list->push_back(layers_.back());
    }
    register_module("layers", list);
  }

  Tensor forward(const Tensor& inputs) override {
    Tensor x = inputs;
    for (size_t i = 0; i + 1 < layers_.size(); ++i) x = torch::relu(layers_[i](x));
    return layers_.back()(x);
  }

 private:
  std::vector<nn::Linear> layers_;
};

class EmbeddingClassifier : public Net {
 public:
  EmbeddingClassifier(int64_t vocabulary, const std::vector<int64_t>& widths)
      : embedding_(register_module("embedding", nn::Embedding(vocabulary, widths.front()))), head_(widths) {
    for (const auto& item : head_.named_children()) register_module(item.key(), item.value());
  }

  Tensor forward(const Tensor& inputs) override { return head_.forward(embedding_(inputs).mean(1)); }

 private:
  nn::Embedding embedding_;
  Mlp head_;
};

struct Attention : nn::Module {
  Attention(int64_t width, int64_t heads)
      : heads(heads),
        qkv(register_module("qkv", nn::Linear(width, 3 * width))),
        projection(register_module("projection", nn::Linear(width, width))) {}

  Tensor forward(const Tensor& x) {
    const int64_t rows = x.size(0), length = x.size(1), width = x.size(2);
    const Tensor all = qkv(x).view({rows, length, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
    const Tensor mixed = torch::scaled_dot_product_attention(all[0], all[1], all[2], {}, 0.0, true);
    return projection(mixed.transpose(1, 2).reshape({rows, length, width}));
  }

  int64_t heads;
  nn::Linear qkv, projection;
};

struct FeedForward : nn::Module {
  explicit FeedForward(int64_t width)
      : expand(register_module("expand", nn::Linear(width, 4 * width))),
        contract(register_module("contract", nn::Linear(4 * width, width))) {}

  Tensor forward(const Tensor& x) { return contract(torch::gelu(expand(x), "tanh")); }

  nn::Linear expand, contract;
};

struct Block : nn::Module {
  Block(int64_t width, int64_t heads)
      : norm1(register_module("norm1", nn::LayerNorm(std::vector<int64_t>{width}))),
        attention(register_module("attention", std::make_shared<Attention>(width, heads))),
        norm2(register_module("norm2", nn::LayerNorm(std::vector<int64_t>{width}))),
        mlp(register_module("mlp", std::make_shared<FeedForward>(width))) {}

  Tensor forward(const Tensor& x) {
    const Tensor y = x + attention->forward(norm1(x));
    return y + mlp->forward(norm2(y));
  }

  nn::LayerNorm norm1;
  std::shared_ptr<Attention> attention;
  nn::LayerNorm norm2;
  std::shared_ptr<FeedForward> mlp;
};

class Gpt : public Net {
 public:
  Gpt(int64_t vocabulary, int64_t layers, int64_t heads, int64_t width, int64_t context)
      : tokens_(register_module("token_embedding", nn::Embedding(vocabulary, width))),
        positions_(register_module("position_embedding", nn::Embedding(context, width))),
        norm_(register_module("final_norm", nn::LayerNorm(std::vector<int64_t>{width}))),
        head_(register_module("head", nn::Linear(nn::LinearOptions(width, vocabulary).bias(false)))) {
    nn::ModuleList list;
    for (int64_t i = 0; i < layers; ++i) {
      blocks_.push_back(std::make_shared<Block>(width, heads));
      list->push_back(blocks_.back());
    }
    register_module("blocks", list);
  }

  Tensor forward(const Tensor& inputs) override {
    Tensor x = tokens_(inputs) + positions_->weight.narrow(0, 0, inputs.size(1));
    for (const auto& block : blocks_) x = block->forward(x);
    return head_(norm_(x));
  }

 private:
  nn::Embedding tokens_, positions_;
  std::vector<std::shared_ptr<Block>> blocks_;
  nn::LayerNorm norm_;
  nn::Linear head_;
};

}  // namespace

std::shared_ptr<Net> make_net(const nlohmann::json& workload) {
  const auto& kind = workload.at("kind");
  const auto& shape = workload.at("model");
  if (kind == "mlp") return std::make_shared<Mlp>(shape.at("widths").get<std::vector<int64_t>>());
  if (kind == "gpt") {
    return std::make_shared<Gpt>(shape.at("vocabulary"), shape.at("layers"), shape.at("heads"),
                                 shape.at("width"), shape.at("context"));
  }
  if (kind == "embedding") {
    std::vector<int64_t> widths{shape.at("width")};
    for (const int64_t width : shape.at("hidden")) widths.push_back(width);
    widths.push_back(shape.at("outputs"));
    return std::make_shared<EmbeddingClassifier>(shape.at("vocabulary"), widths);
  }
  throw std::runtime_error("no model of the kind " + kind.dump());
}

}  // namespace bench
