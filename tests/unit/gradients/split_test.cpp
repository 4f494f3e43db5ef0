// The gradient of a window does not depend on how the window is split: sums of losses, added up in the arena,
// divided once.
#include <doctest/doctest.h>

#include <random>

#include "loop/loss.h"
#include "loop/model.h"
#include "runtime/gradients/parameters.h"

using namespace loop;
using gradients::Parameters;

namespace {

plan::Component component(const std::string& name, plan::json args = plan::json::object()) {
  return {name, std::move(args)};
}

/// Rows [begin, end) of a batch, with `padding` rows behind them that do not count.
Batch rows(const Batch& all, int64_t begin, int64_t end, int64_t padding = 0) {
  Batch part;
  part.inputs = all.inputs.slice(0, begin, end);
  part.targets = all.targets.slice(0, begin, end);
  if (padding > 0) {
    // What stands in padding rows must not matter: they repeat the first row of the whole.
    part.inputs = torch::cat({part.inputs, all.inputs.slice(0, 0, 1).repeat_interleave(padding, 0)});
    part.targets = torch::cat({part.targets, all.targets.slice(0, 0, 1).repeat_interleave(padding, 0)});
    part.valid = torch::arange(end - begin + padding) < (end - begin);
  }
  part.samples = end - begin;
  part.positions =
      part.inputs.dim() == 2 && !part.inputs.is_floating_point() ? part.inputs.numel() : part.inputs.size(0);
  return part;
}

struct Window {
  std::shared_ptr<Model> model;
  std::unique_ptr<Loss> loss;
  plan::CountClass count;
  Batch batch;
};

/// Gradient of Σ loss / N over the given micro-batches, and N.
std::pair<torch::Tensor, double> accumulate(Parameters& parameters, const Window& window,
                                            const std::vector<Batch>& micro_batches) {
  parameters.zero_gradients();
  parameters.clear_touched();
  double count = 0;
  for (const Batch& batch : micro_batches) {
    window.loss->sum(window.model->forward(batch), batch).backward();
    count += window.loss->count(window.count, batch);
  }
  parameters.scale_gradients({}, 1 / count);
  return {parameters.flat_gradient(), count};
}

void check_splits(const Window& window, uint64_t seed) {
  Parameters parameters(window.model, {}, torch::kFloat64);
  const int64_t size = window.batch.inputs.size(0);
  const auto [whole, whole_count] = accumulate(parameters, window, {rows(window.batch, 0, size)});
  REQUIRE(whole.norm().item<double>() > 1e-3);
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 12; ++trial) {
    std::vector<Batch> split;
    int64_t begin = 0;
    while (begin < size) {
      const int64_t end =
          std::min(size, begin + std::uniform_int_distribution<int64_t>(0, 5)(random));  // 0: no rows at all
      split.push_back(rows(window.batch, begin, end, std::uniform_int_distribution<int64_t>(0, 2)(random)));
      begin = end;
    }
    const auto [gradient, count] = accumulate(parameters, window, split);
    CHECK(count == whole_count);
    CHECK(((gradient - whole).norm() / whole.norm()).item<double>() < 1e-10);
  }
}

Batch token_batch(int64_t rows, int64_t length, int64_t vocabulary) {
  Batch batch;
  batch.inputs = torch::randint(vocabulary, {rows, length}, torch::kInt64);
  batch.targets = torch::randint(vocabulary, {rows, length}, torch::kInt64);
  // Unequal counts: row i keeps its first i mod (length + 1) targets, so some rows count nothing.
  for (int64_t i = 0; i < rows; ++i) batch.targets[i].slice(0, i % (length + 1)).fill_(kPaddingTarget);
  batch.targets[rows - 1][0] = 1;
  batch.samples = rows;
  batch.positions = rows * length;
  return batch;
}

}  // namespace

TEST_CASE("a gpt's gradient is the same for every split, with unequal token counts") {
  for (const bool tied : {false, true}) {
    torch::manual_seed(1);
    DataInfo info;
    info.vocabulary = info.classes = 11;
    info.context = 6;
    Window window;
    window.model = make_model(
        component("gpt", {{"layers", 2}, {"heads", 2}, {"width", 8}, {"context", 6}, {"tied", tied}}), info);
    window.loss = make_loss(component("cross_entropy", {{"ignore", 3}, {"label_smoothing", 0.1}}));
    window.count.unit = plan::CountUnit::tokens;
    window.count.ignore = 3;
    window.batch = token_batch(17, 6, 11);
    check_splits(window, 5);
  }
}

TEST_CASE("regression and classification gradients are the same for every split") {
  torch::manual_seed(2);
  DataInfo info;
  info.input_shape = {5};
  info.outputs = 3;
  Window window;
  window.count.unit = plan::CountUnit::samples;
  window.batch.inputs = torch::randn({19, 5}, torch::kFloat64);
  window.batch.targets = torch::rand({19, 3}, torch::kFloat64);
  for (const char* loss : {"mse", "l1", "bce_with_logits"}) {
    CAPTURE(loss);
    window.model = make_model(component("mlp", {{"hidden", {7, 6}}, {"activation", "tanh"}}), info);
    window.loss = make_loss(component(loss));
    check_splits(window, 6);
  }
  info.outputs = 0;
  info.classes = 4;
  info.input_shape = {2, 6, 8};
  window.model = make_model(component("cnn", {{"channels", {3, 4}}, {"hidden", 5}}), info);
  window.loss = make_loss(component("cross_entropy", {{"weights", {1.0, 2.0, 0.5, 3.0}}}));
  window.count.unit = plan::CountUnit::class_weight;
  window.batch.inputs = torch::randn({19, 2, 6, 8}, torch::kFloat64);
  window.batch.targets = torch::randint(4, {19}, torch::kInt64);
  check_splits(window, 7);
}
