// A small convolutional network: per stage a 3×3 convolution, (BatchNorm,) ReLU and 2×2 max pooling; a hidden
// layer; the head.
#include "runtime/models/batch_norm.h"
#include "runtime/models/builtin.h"

namespace loop::models {
namespace {

using torch::Tensor;

struct Shape {
  int64_t planes = 0;
  int64_t height = 0;
  int64_t width = 0;
  std::vector<int64_t> channels;
  int64_t hidden = 0;
  int64_t outputs = 0;
  double dropout = 0;
  bool batch_norm = false;
};

class Cnn : public Model {
 public:
  explicit Cnn(const Shape& shape) : shape_(shape) {
    torch::nn::ModuleList convs, norms;
    int64_t planes = shape.planes, height = shape.height, width = shape.width;
    for (const int64_t channels : shape.channels) {
      convs_.push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(planes, channels, 3).padding(1)));
      convs->push_back(convs_.back());
      if (shape.batch_norm) {
        norms_.push_back(torch::nn::BatchNorm2d(channels));
        norms->push_back(norms_.back());
      }
      planes = channels;
      height /= 2;
      width /= 2;
    }
    register_module("convs", convs);
    if (shape.batch_norm) register_module("norms", norms);
    hidden_ = register_module("hidden", torch::nn::Linear(planes * height * width, shape.hidden));
    head_ = register_module("head", torch::nn::Linear(shape.hidden, shape.outputs));
  }

  /// inputs [b, planes, height, width] -> [b, outputs]
  Tensor forward(const Batch& batch) override {
    const auto run = [this](const Tensor& inputs) {
      Tensor x = inputs;
      for (size_t i = 0; i < convs_.size(); ++i) {
        x = convs_[i](x);
        if (!norms_.empty()) x = normalise(norms_[i], x);
        // Pooling first gives the same values and gradients (ReLU is monotonic) on a quarter of the elements.
        x = torch::relu(torch::max_pool2d(x, 2));
      }
      x = torch::relu(hidden_(x.flatten(1)));
      if (shape_.dropout > 0) x = torch::dropout(x, shape_.dropout, is_training());
      return head_(x);
    };
    return norms_.empty() ? run(batch.inputs) : on_counted_rows(batch, run);
  }

 private:
  Shape shape_;
  std::vector<torch::nn::Conv2d> convs_;
  std::vector<torch::nn::BatchNorm2d> norms_;
  torch::nn::Linear hidden_ = nullptr;
  torch::nn::Linear head_ = nullptr;
};

}  // namespace

std::shared_ptr<Model> make_cnn(const plan::Component& component, const DataInfo& data) {
  Arguments arguments("model", component);
  Shape shape;
  shape.channels = arguments.integers("channels", 1);
  shape.hidden = arguments.integer("hidden", 128, 1);
  shape.dropout = arguments.number("dropout", 0.0, 0.0, 1.0);
  shape.batch_norm = arguments.boolean("batch_norm", false);
  shape.outputs = output_count(arguments, data);
  arguments.finish();
  if (data.input_shape.size() != 3)
    arguments.fail("reads images of planes × height × width, but the training source gives something else",
                   "Use a source of images, such as idx.");
  shape.planes = data.input_shape[0];
  shape.height = data.input_shape[1];
  shape.width = data.input_shape[2];
  // Each stage halves the image; a 64-bit size survives fewer than 63 halvings.
  const size_t stages = shape.channels.size();
  if (stages >= 63 || (std::min(shape.height, shape.width) >> stages) < 1)
    arguments.fail("has " + std::to_string(stages) +
                       " stages, each of which halves the image, but the images are only " +
                       std::to_string(shape.height) + " × " + std::to_string(shape.width),
                   "List fewer `channels`.");
  return std::make_shared<Cnn>(shape);
}

}  // namespace loop::models
