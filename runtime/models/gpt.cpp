// A decoder-only transformer in the shape of GPT-2: learned positions, pre-norm blocks, GELU, causal
// attention.
#include <cmath>

#include "loop/arguments.h"
#include "loop/embedding.h"
#include "loop/recompute.h"
#include "runtime/models/builtin.h"

namespace loop::models {
namespace {

namespace F = torch::nn::functional;
using torch::Tensor;

struct Shape {
  int64_t vocabulary = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t width = 0;
  int64_t context = 0;
  double dropout = 0;
  bool tied = false;
  bool recompute = false;
};

Tensor maybe_dropout(const Tensor& x, double probability, bool training) {
  return probability > 0 && training ? torch::dropout(x, probability, true) : x;
}

class Attention : public torch::nn::Module {
 public:
  explicit Attention(const Shape& shape)
      : heads_(shape.heads),
        dropout_(shape.dropout),
        qkv_(register_module("qkv", torch::nn::Linear(shape.width, 3 * shape.width))),
        projection_(register_module("projection", torch::nn::Linear(shape.width, shape.width))) {}

  /// [b, L, width] -> [b, L, width]; position i sees positions 0 … i.
  Tensor forward(const Tensor& x) {
    const int64_t rows = x.size(0), length = x.size(1), width = x.size(2);
    // [b, L, 3, heads, head] -> three of [b, heads, L, head]
    const Tensor qkv = qkv_(x).view({rows, length, 3, heads_, width / heads_}).permute({2, 0, 3, 1, 4});
    const Tensor mixed = torch::scaled_dot_product_attention(
        qkv[0], qkv[1], qkv[2], /*attn_mask=*/{}, is_training() ? dropout_ : 0.0, /*is_causal=*/true);
    const Tensor joined = mixed.transpose(1, 2).reshape({rows, length, width});
    return maybe_dropout(projection_(joined), dropout_, is_training());
  }

  Tensor& residual_weight() { return projection_->weight; }

 private:
  int64_t heads_;
  double dropout_;
  torch::nn::Linear qkv_;
  torch::nn::Linear projection_;
};

class FeedForward : public torch::nn::Module {
 public:
  explicit FeedForward(const Shape& shape)
      : dropout_(shape.dropout),
        expand_(register_module("expand", torch::nn::Linear(shape.width, 4 * shape.width))),
        contract_(register_module("contract", torch::nn::Linear(4 * shape.width, shape.width))) {}

  Tensor forward(const Tensor& x) {
    return maybe_dropout(contract_(torch::gelu(expand_(x), "tanh")), dropout_, is_training());
  }

  Tensor& residual_weight() { return contract_->weight; }

 private:
  double dropout_;
  torch::nn::Linear expand_;
  torch::nn::Linear contract_;
};

class Block : public torch::nn::Module {
 public:
  explicit Block(const Shape& shape)
      : norm1_(register_module("norm1", torch::nn::LayerNorm(std::vector<int64_t>{shape.width}))),
        attention_(register_module("attention", std::make_shared<Attention>(shape))),
        norm2_(register_module("norm2", torch::nn::LayerNorm(std::vector<int64_t>{shape.width}))),
        mlp_(register_module("mlp", std::make_shared<FeedForward>(shape))) {}

  Tensor forward(Tensor x) {
    x = x + attention_->forward(norm1_(x));
    return x + mlp_->forward(norm2_(x));
  }

  std::vector<Tensor> residual_weights() { return {attention_->residual_weight(), mlp_->residual_weight()}; }

 private:
  torch::nn::LayerNorm norm1_;
  std::shared_ptr<Attention> attention_;
  torch::nn::LayerNorm norm2_;
  std::shared_ptr<FeedForward> mlp_;
};

class Gpt : public Model {
 public:
  explicit Gpt(const Shape& shape)
      : shape_(shape),
        token_embedding_(
            register_module("token_embedding", torch::nn::Embedding(shape.vocabulary, shape.width))),
        position_embedding_(
            register_module("position_embedding", torch::nn::Embedding(shape.context, shape.width))) {
    torch::nn::ModuleList blocks;
    for (int64_t i = 0; i < shape.layers; ++i) {
      blocks_.push_back(std::make_shared<Block>(shape));
      blocks->push_back(blocks_.back());
    }
    register_module("blocks", blocks);
    final_norm_ = register_module("final_norm", torch::nn::LayerNorm(std::vector<int64_t>{shape.width}));
    if (!shape.tied)
      head_ = register_module(
          "head", torch::nn::Linear(torch::nn::LinearOptions(shape.width, shape.vocabulary).bias(false)));
    initialize();
  }

  /// inputs [b, L] int64 -> [b, L, vocabulary]
  Tensor forward(const Batch& batch) override {
    const Tensor& tokens = batch.inputs;
    if (tokens.dim() != 2)
      throw Error(ErrorKind::findings,
                  "model gpt reads sequences of token ids, but this source gives something else",
                  "Use a source of text: text, lines or bin.");
    const int64_t length = tokens.size(1);
    if (length > shape_.context)
      throw Error(ErrorKind::findings,
                  "A sequence of " + std::to_string(length) +
                      " tokens is longer than the model's context of " + std::to_string(shape_.context),
                  "Raise `context` of the model or shorten the source's sequences.");
    Tensor x = embed(tokens, token_embedding_->weight) + position_embedding_->weight.narrow(0, 0, length);
    x = maybe_dropout(x, shape_.dropout, is_training());
    for (const auto& block : blocks_) x = shape_.recompute ? recompute(block, x) : block->forward(x);
    return torch::linear(final_norm_(x), shape_.tied ? token_embedding_->weight : head_->weight);
  }

 private:
  // Radford et al. 2019: N(0, 0.02), the projections that end a residual branch scaled by 1/sqrt(2·layers),
  // so that the residual stream's variance does not grow with depth.
  void initialize() {
    const torch::NoGradGuard no_grad;
    for (auto& item : named_parameters()) {
      Tensor& parameter = item.value();
      const bool is_norm = item.key().find("norm") != std::string::npos;
      if (is_norm) continue;  // LayerNorm starts as the identity
      if (parameter.dim() == 1) {
        parameter.zero_();
      } else {
        parameter.normal_(0.0, 0.02);
      }
    }
    const double shrink = 1 / std::sqrt(2.0 * static_cast<double>(shape_.layers));
    for (const auto& block : blocks_)
      for (Tensor& weight : block->residual_weights()) weight.mul_(shrink);
  }

  Shape shape_;
  torch::nn::Embedding token_embedding_;
  torch::nn::Embedding position_embedding_;
  std::vector<std::shared_ptr<Block>> blocks_;
  torch::nn::LayerNorm final_norm_ = nullptr;
  torch::nn::Linear head_ = nullptr;
};

}  // namespace

std::shared_ptr<Model> make_gpt(const plan::Component& component, const DataInfo& data) {
  Arguments arguments("model", component);
  Shape shape;
  shape.vocabulary = data.vocabulary;
  shape.layers = arguments.integer("layers", {}, 1);
  shape.heads = arguments.integer("heads", {}, 1);
  shape.width = arguments.integer("width", {}, 1);
  shape.context = arguments.integer("context", {}, 1);
  shape.dropout = arguments.number("dropout", 0.0, 0.0, 1.0);
  shape.tied = arguments.boolean("tied", false);
  shape.recompute = arguments.choice("recompute", {"none", "blocks"}) == "blocks";
  arguments.finish();
  if (shape.width % shape.heads != 0)
    arguments.fail("needs a width that is a multiple of its heads, not " + std::to_string(shape.width) +
                   " and " + std::to_string(shape.heads));
  if (data.vocabulary <= 0)
    arguments.fail("reads token ids, but the training source has no vocabulary",
                   "Use a source of text: text, lines or bin.");
  if (data.context > shape.context)
    arguments.fail("has a context of " + std::to_string(shape.context) +
                       ", but the source gives sequences of up to " + std::to_string(data.context) +
                       " tokens",
                   "Raise `context` of the model or shorten the source's sequences.");
  return std::make_shared<Gpt>(shape);
}

}  // namespace loop::models
