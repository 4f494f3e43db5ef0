// The built-in models: names and shapes, values against plain loops, empty batches, arguments.
#include "loop/model.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "loop/error.h"
#include "tests/support/error_of.h"

using namespace loop;
using loop::testing::error_of;
using torch::Tensor;

namespace {

plan::Component component(const std::string& name, plan::json args = plan::json::object()) {
  return {name, std::move(args)};
}

DataInfo text_info(int64_t vocabulary, int64_t context) {
  DataInfo info;
  info.vocabulary = info.classes = vocabulary;
  info.context = context;
  return info;
}

DataInfo image_info(std::vector<int64_t> shape, int64_t classes) {
  DataInfo info;
  info.classes = classes;
  info.input_shape = std::move(shape);
  return info;
}

Batch batch_of(const Tensor& inputs, const Tensor& valid = {}) {
  Batch batch;
  batch.inputs = inputs;
  batch.valid = valid;
  return batch;
}

std::string listing(const Model& model) {
  std::ostringstream text;
  for (const auto& item : model.named_parameters()) text << item.key() << " " << item.value().sizes() << "\n";
  return text.str();
}

const plan::json kSmallGpt = {{"layers", 2}, {"heads", 2}, {"width", 8}, {"context", 6}};

plan::json with(plan::json args, const std::string& key, plan::json value) {
  args[key] = std::move(value);
  return args;
}

/// A model of its user: one scale.
class Scale : public Model {
 public:
  Scale() { scale_ = register_parameter("scale", torch::full({1}, 2.0)); }
  Tensor forward(const Batch& batch) override { return batch.inputs * scale_; }

 private:
  Tensor scale_;
};

using Rows = std::vector<std::vector<double>>;

/// Plain-loop versions of a transformer's parts, one sequence at a time.
struct Plain {
  std::map<std::string, Tensor> parameters;

  double at(const std::string& name, int64_t i) const { return parameters.at(name).data_ptr<double>()[i]; }

  Rows linear(const Rows& x, const std::string& name, bool bias) const {
    const int64_t outputs = parameters.at(name + ".weight").size(0),
                  inputs = parameters.at(name + ".weight").size(1);
    Rows result;
    for (const auto& row : x) {
      result.emplace_back();
      for (int64_t o = 0; o < outputs; ++o) {
        double sum = bias ? at(name + ".bias", o) : 0;
        for (int64_t i = 0; i < inputs; ++i)
          sum += at(name + ".weight", o * inputs + i) * row[static_cast<size_t>(i)];
        result.back().push_back(sum);
      }
    }
    return result;
  }

  Rows norm(const Rows& x, const std::string& name) const {
    Rows result = x;
    for (auto& row : result) {
      double mean = 0, variance = 0;
      for (const double v : row) mean += v / static_cast<double>(row.size());
      for (const double v : row) variance += (v - mean) * (v - mean) / static_cast<double>(row.size());
      for (size_t i = 0; i < row.size(); ++i)
        row[i] =
            (row[i] - mean) / std::sqrt(variance + 1e-5) * at(name + ".weight", static_cast<int64_t>(i)) +
            at(name + ".bias", static_cast<int64_t>(i));
    }
    return result;
  }

  Rows attention(const Rows& x, const std::string& name, size_t heads) const {
    const Rows qkv = linear(x, name + ".qkv", true);
    const size_t width = x[0].size(), head = width / heads;
    Rows mixed(x.size(), std::vector<double>(width));
    for (size_t h = 0; h < heads; ++h)
      for (size_t i = 0; i < x.size(); ++i) {
        std::vector<double> weights;
        double sum = 0;
        for (size_t j = 0; j <= i; ++j) {
          double score = 0;
          for (size_t d = 0; d < head; ++d) score += qkv[i][h * head + d] * qkv[j][width + h * head + d];
          weights.push_back(std::exp(score / std::sqrt(static_cast<double>(head))));
          sum += weights.back();
        }
        for (size_t j = 0; j <= i; ++j)
          for (size_t d = 0; d < head; ++d)
            mixed[i][h * head + d] += weights[j] / sum * qkv[j][2 * width + h * head + d];
      }
    return linear(mixed, name + ".projection", true);
  }

  static void add(Rows& x, const Rows& y) {
    for (size_t i = 0; i < x.size(); ++i)
      for (size_t d = 0; d < x[i].size(); ++d) x[i][d] += y[i][d];
  }

  Rows gpt(const std::vector<int64_t>& tokens, size_t layers, size_t heads, bool tied) const {
    const int64_t width = parameters.at("token_embedding.weight").size(1);
    Rows x(tokens.size());
    for (size_t i = 0; i < tokens.size(); ++i)
      for (int64_t d = 0; d < width; ++d)
        x[i].push_back(at("token_embedding.weight", tokens[i] * width + d) +
                       at("position_embedding.weight", static_cast<int64_t>(i) * width + d));
    for (size_t layer = 0; layer < layers; ++layer) {
      const std::string block = "blocks." + std::to_string(layer);
      add(x, attention(norm(x, block + ".norm1"), block + ".attention", heads));
      Rows inner = linear(norm(x, block + ".norm2"), block + ".mlp.expand", true);
      for (auto& row : inner)
        for (double& v : row)
          v = 0.5 * v * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (v + 0.044715 * v * v * v)));
      add(x, linear(inner, block + ".mlp.contract", true));
    }
    return linear(norm(x, "final_norm"), tied ? "token_embedding" : "head", false);
  }
};

}  // namespace

TEST_CASE("gpt's parameters are those of its descriptor") {
  const auto model = make_model(component("gpt", with(kSmallGpt, "layers", 1)), text_info(11, 6));
  CHECK(listing(*model) ==
        "token_embedding.weight [11, 8]\n"
        "position_embedding.weight [6, 8]\n"
        "blocks.0.norm1.weight [8]\n"
        "blocks.0.norm1.bias [8]\n"
        "blocks.0.attention.qkv.weight [24, 8]\n"
        "blocks.0.attention.qkv.bias [24]\n"
        "blocks.0.attention.projection.weight [8, 8]\n"
        "blocks.0.attention.projection.bias [8]\n"
        "blocks.0.norm2.weight [8]\n"
        "blocks.0.norm2.bias [8]\n"
        "blocks.0.mlp.expand.weight [32, 8]\n"
        "blocks.0.mlp.expand.bias [32]\n"
        "blocks.0.mlp.contract.weight [8, 32]\n"
        "blocks.0.mlp.contract.bias [8]\n"
        "final_norm.weight [8]\n"
        "final_norm.bias [8]\n"
        "head.weight [11, 8]\n");
  const auto tied =
      make_model(component("gpt", with(with(kSmallGpt, "layers", 1), "tied", true)), text_info(11, 6));
  CHECK(listing(*tied) + "head.weight [11, 8]\n" == listing(*model));
}

TEST_CASE("gpt equals a transformer written with plain loops") {
  for (const bool tied : {false, true}) {
    torch::manual_seed(4);
    const auto model = make_model(component("gpt", with(kSmallGpt, "tied", tied)), text_info(11, 6));
    model->to(torch::kFloat64);
    Plain plain;
    {
      const torch::NoGradGuard no_grad;
      for (auto& item : model->named_parameters()) {
        item.value().add_(torch::randn_like(item.value()), 0.3);  // biases and norms away from 0 and 1
        plain.parameters[item.key()] = item.value().detach();
      }
    }
    for (const int64_t length : {1, 5, 6}) {
      const Tensor tokens = torch::randint(11, {3, length}, torch::kInt64);
      const Tensor outputs = model->forward(batch_of(tokens));
      REQUIRE((outputs.sizes() == torch::IntArrayRef({3, length, 11})));
      for (int64_t r = 0; r < 3; ++r) {
        const Tensor row = tokens[r].contiguous();
        const Rows expected =
            plain.gpt({row.data_ptr<int64_t>(), row.data_ptr<int64_t>() + length}, 2, 2, tied);
        for (int64_t i = 0; i < length; ++i)
          for (int64_t v = 0; v < 11; ++v)
            CHECK(outputs[r][i][v].item<double>() ==
                  doctest::Approx(expected[static_cast<size_t>(i)][static_cast<size_t>(v)]).epsilon(1e-10));
      }
    }
  }
}

TEST_CASE("gpt starts as GPT-2 does") {
  torch::manual_seed(6);
  const auto model = make_model(
      component("gpt", {{"layers", 8}, {"heads", 4}, {"width", 64}, {"context", 32}}), text_info(100, 32));
  for (const auto& item : model->named_parameters()) {
    CAPTURE(item.key());
    const std::string& name = item.key();
    const Tensor& value = item.value();
    const bool residual = name.find("projection.weight") != std::string::npos ||
                          name.find("contract.weight") != std::string::npos;
    if (value.dim() == 1) {
      const double constant =
          name.find("norm") != std::string::npos && name.find("weight") != std::string::npos ? 1 : 0;
      CHECK(value.eq(constant).all().item<bool>());
    } else {
      CHECK(value.std().item<double>() == doctest::Approx(residual ? 0.02 / 4 : 0.02).epsilon(0.06));
    }
  }
  // An untrained model is close to uniform over its vocabulary.
  const Tensor outputs = model->forward(batch_of(torch::randint(100, {4, 32}, torch::kInt64)));
  const double loss = -outputs.log_softmax(-1).mean().item<double>();
  CHECK(loss == doctest::Approx(std::log(100.0)).epsilon(0.01));
}

TEST_CASE("the same seed gives the same model and the same dropout") {
  const plan::Component gpt = component("gpt", with(kSmallGpt, "dropout", 0.5));
  const Tensor tokens = torch::randint(11, {2, 6}, torch::kInt64);
  const auto outputs = [&](bool training) {
    torch::manual_seed(9);
    const auto model = make_model(gpt, text_info(11, 6));
    model->train(training);
    return model->forward(batch_of(tokens));
  };
  CHECK(outputs(true).equal(outputs(true)));
  CHECK_FALSE(outputs(true).equal(outputs(false)));
  torch::manual_seed(9);
  const auto model = make_model(gpt, text_info(11, 6));
  CHECK_FALSE(model->forward(batch_of(tokens)).equal(model->forward(batch_of(tokens))));
  model->eval();
  CHECK(model->forward(batch_of(tokens)).equal(model->forward(batch_of(tokens))));
}

TEST_CASE("linear, mlp and cnn: parameters as in their descriptors") {
  CHECK(listing(*make_model(component("linear"), image_info({1, 2, 3}, 4))) == "weight [4, 6]\nbias [4]\n");
  CHECK(listing(
            *make_model(component("mlp", {{"hidden", {5, 7}}, {"batch_norm", true}}), image_info({6}, 4))) ==
        "layers.0.weight [5, 6]\nlayers.0.bias [5]\n"
        "layers.1.weight [7, 5]\nlayers.1.bias [7]\n"
        "layers.2.weight [4, 7]\nlayers.2.bias [4]\n"
        "norms.0.weight [5]\nnorms.0.bias [5]\n"
        "norms.1.weight [7]\nnorms.1.bias [7]\n");
  CHECK(listing(*make_model(component("mlp", {{"hidden", {5}}, {"outputs", 2}}), image_info({6}, 0))) ==
        "layers.0.weight [5, 6]\nlayers.0.bias [5]\nlayers.1.weight [2, 5]\nlayers.1.bias [2]\n");
  // 7 × 9 halves to 3 × 4 and to 1 × 2.
  CHECK(listing(*make_model(component("cnn", {{"channels", {2, 3}}, {"hidden", 5}, {"batch_norm", true}}),
                            image_info({1, 7, 9}, 4))) ==
        "convs.0.weight [2, 1, 3, 3]\nconvs.0.bias [2]\n"
        "convs.1.weight [3, 2, 3, 3]\nconvs.1.bias [3]\n"
        "norms.0.weight [2]\nnorms.0.bias [2]\n"
        "norms.1.weight [3]\nnorms.1.bias [3]\n"
        "hidden.weight [5, 6]\nhidden.bias [5]\nhead.weight [4, 5]\nhead.bias [4]\n");
  // The number of outputs comes from the data: classes, else columns of the target.
  DataInfo info = image_info({6}, 0);
  info.outputs = 3;
  CHECK(listing(*make_model(component("linear"), info)) == "weight [3, 6]\nbias [3]\n");
}

TEST_CASE("mlp equals plain loops") {
  for (const std::string activation : {"relu", "gelu", "tanh"}) {
    torch::manual_seed(3);
    const auto model =
        make_model(component("mlp", {{"hidden", {5}}, {"activation", activation}}), image_info({2, 3}, 4));
    model->to(torch::kFloat64);
    Plain plain;
    for (const auto& item : model->named_parameters()) plain.parameters[item.key()] = item.value().detach();
    const Tensor inputs = torch::randn({2, 2, 3}, torch::kFloat64);
    Rows x = {{inputs.data_ptr<double>(), inputs.data_ptr<double>() + 6},
              {inputs.data_ptr<double>() + 6, inputs.data_ptr<double>() + 12}};
    x = plain.linear(x, "layers.0", true);
    for (auto& row : x)
      for (double& v : row)
        v = activation == "relu"   ? std::max(v, 0.0)
            : activation == "tanh" ? std::tanh(v)
                                   : 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
    x = plain.linear(x, "layers.1", true);
    const Tensor outputs = model->forward(batch_of(inputs));
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t c = 0; c < 4; ++c)
        CHECK(outputs[i][c].item<double>() ==
              doctest::Approx(x[static_cast<size_t>(i)][static_cast<size_t>(c)]).epsilon(1e-12));
  }
}

TEST_CASE("cnn equals plain loops") {
  torch::manual_seed(8);
  const auto model =
      make_model(component("cnn", {{"channels", {2}}, {"hidden", 3}}), image_info({2, 5, 4}, 3));
  model->to(torch::kFloat64);
  Plain plain;
  for (const auto& item : model->named_parameters()) plain.parameters[item.key()] = item.value().detach();
  const Tensor image = torch::randn({1, 2, 5, 4}, torch::kFloat64);
  const auto pixel = [&](int64_t c, int64_t y, int64_t x) {
    return y < 0 || y >= 5 || x < 0 || x >= 4 ? 0.0 : image[0][c][y][x].item<double>();
  };
  Rows flat(1);
  for (int64_t o = 0; o < 2; ++o)
    for (int64_t py = 0; py < 2; ++py)
      for (int64_t px = 0; px < 2; ++px) {
        double most = 0;  // ReLU
        for (int64_t y = 2 * py; y < 2 * py + 2; ++y)
          for (int64_t x = 2 * px; x < 2 * px + 2; ++x) {
            double sum = plain.at("convs.0.bias", o);
            for (int64_t c = 0; c < 2; ++c)
              for (int64_t dy = 0; dy < 3; ++dy)
                for (int64_t dx = 0; dx < 3; ++dx)
                  sum += plain.at("convs.0.weight", ((o * 2 + c) * 3 + dy) * 3 + dx) *
                         pixel(c, y + dy - 1, x + dx - 1);
            most = std::max(most, sum);
          }
        flat[0].push_back(most);
      }
  Rows hidden = plain.linear(flat, "hidden", true);
  for (double& v : hidden[0]) v = std::max(v, 0.0);
  const Rows expected = plain.linear(hidden, "head", true);
  const Tensor outputs = model->forward(batch_of(image));
  for (int64_t c = 0; c < 3; ++c)
    CHECK(outputs[0][c].item<double>() ==
          doctest::Approx(expected[0][static_cast<size_t>(c)]).epsilon(1e-12));
}

TEST_CASE("a batch without rows goes forward and backward") {
  const struct {
    plan::Component component;
    DataInfo info;
    Tensor inputs;
  } cases[] = {
      {component("gpt", with(kSmallGpt, "dropout", 0.1)), text_info(11, 6),
       torch::zeros({0, 6}, torch::kInt64)},
      {component("gpt", kSmallGpt), text_info(11, 6), torch::zeros({0, 0}, torch::kInt64)},
      {component("embedding_classifier", {{"width", 3}, {"hidden", {5}}, {"padding", 0}}), text_info(11, 4),
       torch::zeros({0, 4}, torch::kInt64)},
      {component("linear"), image_info({6}, 4), torch::zeros({0, 6})},
      {component("mlp", {{"hidden", {5}}, {"batch_norm", true}, {"dropout", 0.1}}), image_info({6}, 4),
       torch::zeros({0, 6})},
      {component("cnn", {{"channels", {2}}, {"batch_norm", true}, {"dropout", 0.1}}),
       image_info({1, 4, 4}, 4), torch::zeros({0, 1, 4, 4})},
      {component("cnn", {{"channels", {2}}}), image_info({1, 4, 4}, 4), torch::zeros({0, 1, 4, 4})},
  };
  for (const auto& one : cases) {
    CAPTURE(one.component.name);
    const auto model = make_model(one.component, one.info);
    const Tensor outputs = model->forward(batch_of(one.inputs));
    CHECK(outputs.size(0) == 0);
    CHECK(outputs.size(-1) == one.info.classes);
    outputs.sum().backward();
    for (const auto& item : model->named_parameters()) {
      CAPTURE(item.key());
      REQUIRE(item.value().grad().defined());
      CHECK(item.value().grad().eq(0).all().item<bool>());
    }
    for (const auto& item : model->named_buffers()) CHECK(item.value().isfinite().all().item<bool>());
  }
}

TEST_CASE("padding rows have no part in batch statistics") {
  const struct {
    plan::Component component;
    std::vector<int64_t> shape;
  } cases[] = {{component("mlp", {{"hidden", {5}}, {"batch_norm", true}}), {6}},
               {component("cnn", {{"channels", {2}}, {"batch_norm", true}}), {1, 4, 4}}};
  for (const auto& one : cases) {
    CAPTURE(one.component.name);
    const auto make = [&] {
      torch::manual_seed(5);
      const auto model = make_model(one.component, image_info(one.shape, 3));
      model->to(torch::kFloat64);
      return model;
    };
    std::vector<int64_t> sizes = one.shape;
    sizes.insert(sizes.begin(), 5);
    torch::manual_seed(6);
    const Tensor inputs = torch::randn(sizes, torch::kFloat64);
    const Tensor valid = torch::tensor({1, 0, 1, 1, 0}).to(torch::kBool);
    const auto plain = make(), padded = make();
    const Tensor expected = plain->forward(batch_of(inputs.index({valid})));
    const Tensor outputs = padded->forward(batch_of(inputs, valid));
    CHECK(outputs.index({valid}).allclose(expected, 1e-12, 1e-14));
    CHECK(outputs.index({valid.logical_not()}).eq(0).all().item<bool>());
    for (const auto& item : plain->named_buffers())
      CHECK(padded->named_buffers()[item.key()]
                .to(torch::kFloat64)
                .allclose(item.value().to(torch::kFloat64), 1e-12));
  }
}

TEST_CASE("B80: one sample has no batch statistics, and the message says what to do") {
  const auto model =
      make_model(component("mlp", {{"hidden", {5}}, {"batch_norm", true}}), image_info({6}, 4));
  CHECK(error_of([&] {
          model->forward(batch_of(torch::zeros({1, 6})));
        }).find("short = drop") != std::string::npos);
  model->eval();
  CHECK(model->forward(batch_of(torch::zeros({1, 6}))).isfinite().all().item<bool>());
  // An image has many values per channel.
  const auto images =
      make_model(component("cnn", {{"channels", {2}}, {"batch_norm", true}}), image_info({1, 4, 4}, 4));
  CHECK(images->forward(batch_of(torch::randn({1, 1, 4, 4}))).isfinite().all().item<bool>());
}

TEST_CASE("a user's model is registered once and made by name") {
  register_model("scale_for_test",
                 [](const plan::Component&, const DataInfo&) { return std::make_shared<Scale>(); });
  const auto model = make_model(component("scale_for_test"), {});
  CHECK(model->forward(batch_of(torch::ones({2}))).sum().item<double>() == 4);
  const std::vector<std::string> names = model_names();
  for (const char* name : {"gpt", "mlp", "cnn", "linear", "scale_for_test"})
    CHECK(std::find(names.begin(), names.end(), name) != names.end());
  CHECK(error_of([] {
          register_model("gpt", [](const plan::Component&, const DataInfo&) { return nullptr; });
        }).find("already registered") != std::string::npos);
}

TEST_CASE("what does not fit is said") {
  const auto error = [](const std::string& name, plan::json args, const DataInfo& info) {
    return error_of([&] { make_model(component(name, std::move(args)), info); });
  };
  const DataInfo text = text_info(11, 6), image = image_info({1, 8, 8}, 4);
  CHECK(error("gtp", {}, text).find("cnn, embedding_classifier, gpt, linear, mlp") != std::string::npos);
  CHECK(error("gpt", {{"layers", 2}}, text).find("needs the argument `heads`") != std::string::npos);
  CHECK(error("gpt", with(kSmallGpt, "heads", 3), text).find("8 and 3") != std::string::npos);
  CHECK(error("gpt", with(kSmallGpt, "layers", 0), text)
            .find("`layers` as a whole number of at least 1, not 0") != std::string::npos);
  CHECK(error("gpt", with(kSmallGpt, "layers", 1.5), text).find("1.5") != std::string::npos);
  CHECK(error("gpt", with(kSmallGpt, "dropout", 1.0), text).find("[0, 1)") != std::string::npos);
  CHECK(error("gpt", with(kSmallGpt, "tied", "yes"), text).find("true or false") != std::string::npos);
  CHECK(error("gpt", with(kSmallGpt, "widht", 8), text).find("`widht`") != std::string::npos);
  CHECK(error("gpt", kSmallGpt, text_info(11, 7)).find("context of 6") != std::string::npos);
  CHECK(error("gpt", kSmallGpt, image).find("vocabulary") != std::string::npos);
  CHECK(error("mlp", {{"hidden", {4}}}, text).find("gpt for text") != std::string::npos);
  CHECK(error("mlp", {{"hidden", 4}}, image).find("list of whole numbers") != std::string::npos);
  CHECK(error("mlp", {{"hidden", {4}}, {"activation", "swish"}}, image).find("relu, gelu, tanh") !=
        std::string::npos);
  CHECK(error("mlp", {{"hidden", {4}}}, image_info({6}, 0)).find("`outputs`") != std::string::npos);
  CHECK(error("cnn", {{"channels", {4, 4, 4, 4}}}, image).find("4 stages") != std::string::npos);
  CHECK(error("cnn", {{"channels", {4}}}, image_info({6}, 4)).find("images") != std::string::npos);
  // Whole numbers may be written as 2.0, and absent ones as none.
  CHECK(error("gpt", with(with(kSmallGpt, "layers", 2.0), "dropout", nullptr), text).empty());

  const auto model = make_model(component("gpt", kSmallGpt), text);
  CHECK(error_of([&] {
          model->forward(batch_of(torch::zeros({1, 7}, torch::kInt64)));
        }).find("7 tokens") != std::string::npos);
}

TEST_CASE("embedding_classifier equals plain loops, without its padding") {
  const plan::json args = {{"width", 3}, {"hidden", {5}}, {"padding", 0}};
  DataInfo info = text_info(11, 4);
  info.classes = 2;
  CHECK(listing(*make_model(component("embedding_classifier", args), info)) ==
        "embedding.weight [11, 3]\n"
        "layers.0.weight [5, 3]\nlayers.0.bias [5]\n"
        "layers.1.weight [2, 5]\nlayers.1.bias [2]\n");
  CHECK(listing(*make_model(
            component("embedding_classifier", {{"width", 3}, {"hidden", plan::json::array()}}), info)) ==
        "embedding.weight [11, 3]\nlayers.0.weight [2, 3]\nlayers.0.bias [2]\n");
  for (const bool padding : {false, true}) {
    torch::manual_seed(2);
    const auto model =
        make_model(component("embedding_classifier", padding ? args : with(args, "padding", nullptr)), info);
    model->to(torch::kFloat64);
    Plain plain;
    for (const auto& item : model->named_parameters()) plain.parameters[item.key()] = item.value().detach();
    const std::vector<std::vector<int64_t>> texts = {{3, 3, 9, 1}, {7, 2, 0, 0}, {0, 0, 0, 0}};
    Rows x;
    for (const auto& text : texts) {
      std::vector<double> mean(3);
      double count = 0;
      for (const int64_t token : text) {
        if (padding && token == 0) continue;
        ++count;
        for (int64_t d = 0; d < 3; ++d)
          mean[static_cast<size_t>(d)] += plain.at("embedding.weight", token * 3 + d);
      }
      for (double& v : mean) v /= std::max(count, 1.0);
      x.push_back(mean);
    }
    Rows hidden = plain.linear(x, "layers.0", true);
    for (auto& row : hidden)
      for (double& v : row) v = std::max(v, 0.0);
    const Rows expected = plain.linear(hidden, "layers.1", true);
    std::vector<int64_t> flat;
    for (const auto& text : texts) flat.insert(flat.end(), text.begin(), text.end());
    const Tensor outputs = model->forward(batch_of(torch::tensor(flat, torch::kInt64).view({3, 4})));
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t c = 0; c < 2; ++c)
        CHECK(outputs[i][c].item<double>() ==
              doctest::Approx(expected[static_cast<size_t>(i)][static_cast<size_t>(c)]).epsilon(1e-12));
    outputs.sum().backward();
    CHECK(model->named_parameters()["embedding.weight"].grad()[0].eq(0).all().item<bool>() == padding);
  }
  const auto error = [&](plan::json given, const DataInfo& data) {
    return error_of([&] { make_model(component("embedding_classifier", std::move(given)), data); });
  };
  CHECK(error(with(args, "padding", 11), info).find("vocabulary of 11") != std::string::npos);
  CHECK(error(args, image_info({6}, 4)).find("npy with `vocabulary`") != std::string::npos);
}
