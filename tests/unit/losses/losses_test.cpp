// Losses, counts and metrics against formulas written with plain loops in double.
#include "loop/loss.h"

#include <doctest/doctest.h>

#include <cmath>

#include "loop/error.h"
#include "tests/support/error_of.h"

using namespace loop;
using loop::testing::error_of;
using torch::Tensor;

namespace {

plan::Component component(const std::string& name, plan::json args = plan::json::object()) {
  return {name, std::move(args)};
}

Tensor doubles(const std::vector<double>& numbers) {
  return torch::tensor(numbers, torch::kFloat64);
}
Tensor classes(const std::vector<int64_t>& numbers) {
  return torch::tensor(numbers, torch::kInt64);
}

Batch batch_of(const Tensor& targets, const Tensor& valid = {}) {
  Batch batch;
  batch.inputs = torch::zeros({targets.size(0), 1});
  batch.targets = targets;
  batch.valid = valid;
  batch.samples = valid.defined() ? valid.sum().item<int64_t>() : targets.size(0);
  batch.positions = targets.numel();
  return batch;
}

double value(const Tensor& tensor) {
  return tensor.item<double>();
}

/// Element of a tensor by index, as double.
double element(const Tensor& tensor, std::vector<int64_t> index) {
  Tensor element = tensor;
  for (const int64_t i : index) element = element[i];
  return element.item<double>();
}

double log_sum_exp(const Tensor& row) {
  double most = -INFINITY, sum = 0;
  for (int64_t c = 0; c < row.size(0); ++c) most = std::max(most, element(row, {c}));
  for (int64_t c = 0; c < row.size(0); ++c) sum += std::exp(element(row, {c}) - most);
  return most + std::log(sum);
}

/// −Σ_c w_c·q_c·log p_c with q the smoothed target.
double cross_entropy(const Tensor& row, int64_t target, double smoothing,
                     const std::vector<double>& weights) {
  const double normaliser = log_sum_exp(row);
  const auto count = row.size(0);
  double sum = 0;
  for (int64_t c = 0; c < count; ++c) {
    const double q = (c == target ? 1 - smoothing : 0) + smoothing / static_cast<double>(count);
    sum -= (weights.empty() ? 1 : weights[static_cast<size_t>(c)]) * q * (element(row, {c}) - normaliser);
  }
  return sum;
}

double count(plan::CountUnit unit, const Batch& batch, std::optional<int64_t> ignore = {}) {
  plan::CountClass count_class;
  count_class.unit = unit;
  count_class.ignore = ignore;
  return count_units(count_class, batch);
}

}  // namespace

TEST_CASE("cross_entropy sums over targets that count") {
  torch::manual_seed(1);
  const int64_t rows = 4, length = 5, vocabulary = 7;
  Tensor outputs = (3 * torch::randn({rows, length, vocabulary}, torch::kFloat64)).requires_grad_();
  Tensor targets = torch::randint(vocabulary, {rows, length}, torch::kInt64);
  targets[0][4] = kPaddingTarget;
  targets[1].fill_(kPaddingTarget);
  targets[2][0] = 6;
  const Tensor valid = torch::tensor({1, 1, 1, 0}).to(torch::kBool);
  const Batch batch = batch_of(targets, valid);
  for (const double smoothing : {0.0, 0.2}) {
    for (const bool ignoring : {false, true}) {
      for (const std::vector<double>& weights : {std::vector<double>{}, {1, 2, 0.5, 0, 3, 1, 4}}) {
        plan::json args = {{"label_smoothing", smoothing}};
        if (ignoring) args["ignore"] = 6;
        if (!weights.empty()) args["weights"] = weights;
        const auto loss = make_loss(component("cross_entropy", args));
        double expected = 0, weight = 0;
        int64_t counted = 0;
        for (int64_t i = 0; i < 3; ++i)
          for (int64_t j = 0; j < length; ++j) {
            const int64_t target = targets[i][j].item<int64_t>();
            if (target == kPaddingTarget || (ignoring && target == 6)) continue;
            expected += cross_entropy(outputs[i][j], target, smoothing, weights);
            weight += weights.empty() ? 0 : weights[static_cast<size_t>(target)];
            ++counted;
          }
        const Tensor sum = loss->sum(outputs, batch);
        CHECK(value(sum) == doctest::Approx(expected).epsilon(1e-12));
        CHECK(loss->elements(batch) == counted);
        const std::optional<int64_t> ignore = ignoring ? std::optional<int64_t>(6) : std::nullopt;
        CHECK(count(plan::CountUnit::tokens, batch, ignore) == counted);
        CHECK(count(plan::CountUnit::samples, batch, ignore) == 2);
        if (!weights.empty()) {
          plan::CountClass by_weight;
          by_weight.unit = plan::CountUnit::class_weight;
          CHECK(loss->count(by_weight, batch) == doctest::Approx(weight).epsilon(1e-14));
        }
        // Rows that do not count get no gradient.
        const Tensor gradient = torch::autograd::grad({sum}, {outputs})[0];
        CHECK(value(gradient[1].abs().sum()) == 0);
        CHECK(value(gradient[3].abs().sum()) == 0);
        CHECK(value(gradient[0][4].abs().sum()) == 0);
      }
    }
  }
}

TEST_CASE("B13: smoothing has the target's mask") {
  const auto loss = make_loss(component("cross_entropy", {{"ignore", -100}, {"label_smoothing", 0.2}}));
  const Batch batch = batch_of(classes({2, -100, 0, -100}));
  const Tensor outputs = torch::zeros({4, 4}, torch::kFloat64);
  CHECK(value(loss->sum(outputs, batch)) / static_cast<double>(loss->elements(batch)) ==
        doctest::Approx(std::log(4.0)).epsilon(1e-14));
  // More padding changes nothing.
  const Batch padded = batch_of(classes({2, -100, 0, -100, -100, -100, -100}));
  CHECK(value(loss->sum(torch::randn({7, 4}, torch::kFloat64), padded)) !=
        doctest::Approx(2 * std::log(4.0)).epsilon(1e-3));
  CHECK(value(loss->sum(torch::zeros({7, 4}, torch::kFloat64), padded)) ==
        doctest::Approx(2 * std::log(4.0)).epsilon(1e-14));
}

TEST_CASE("B15, B17: nothing that counts is a zero that stays connected to the graph") {
  for (const char* name : {"cross_entropy", "z_loss"}) {
    CAPTURE(name);
    const auto loss = make_loss(component(name));
    Tensor outputs = torch::randn({2, 3, 4}, torch::kFloat64).requires_grad_();
    const Batch batch = batch_of(torch::full({2, 3}, kPaddingTarget));
    const Tensor sum = loss->sum(outputs, batch);
    CHECK(sum.dim() == 0);
    CHECK(value(sum) == 0);
    CHECK(loss->elements(batch) == 0);
    sum.backward();
    REQUIRE(outputs.grad().defined());
    CHECK(value(outputs.grad().abs().sum()) == 0);
  }
  for (const char* name : {"mse", "l1", "bce_with_logits"}) {
    CAPTURE(name);
    const auto loss = make_loss(component(name));
    Tensor outputs = torch::randn({2, 3}, torch::kFloat64).requires_grad_();
    const Batch batch = batch_of(torch::full({2, 3}, NAN, torch::kFloat64), torch::zeros({2}, torch::kBool));
    const Tensor sum = loss->sum(outputs, batch);
    CHECK(value(sum) == 0);
    CHECK(loss->elements(batch) == 0);
    sum.backward();
    CHECK(value(outputs.grad().abs().sum()) == 0);
  }
}

TEST_CASE("a batch without rows") {
  for (const char* name : {"cross_entropy", "z_loss", "mse", "l1", "bce_with_logits"}) {
    CAPTURE(name);
    const bool with_classes = std::string(name) == "cross_entropy" || std::string(name) == "z_loss";
    const auto loss = make_loss(component(name));
    Tensor outputs = torch::zeros({0, 3}, torch::kFloat64).requires_grad_();
    const Batch batch =
        batch_of(with_classes ? torch::zeros({0}, torch::kInt64) : torch::zeros({0, 3}, torch::kFloat64));
    const Tensor sum = loss->sum(outputs, batch);
    CHECK(value(sum) == 0);
    sum.backward();
    CHECK(outputs.grad().defined());
    CHECK(loss->elements(batch) == 0);
    for (const plan::CountUnit unit :
         {plan::CountUnit::tokens, plan::CountUnit::samples, plan::CountUnit::positions,
          plan::CountUnit::window, plan::CountUnit::constant, plan::CountUnit::micro_batch})
      CHECK(count(unit, batch) == 0);
  }
}

TEST_CASE("z_loss is the square of the softmax's log normaliser") {
  torch::manual_seed(2);
  const Tensor outputs = 2 * torch::randn({5, 6}, torch::kFloat64);
  const Batch batch = batch_of(classes({0, -100, 5, 2, 2}), torch::tensor({1, 1, 1, 1, 0}).to(torch::kBool));
  const double expected = std::pow(log_sum_exp(outputs[0]), 2) + std::pow(log_sum_exp(outputs[2]), 2);
  CHECK(value(make_loss(component("z_loss", {{"ignore", 2}}))->sum(outputs, batch)) ==
        doctest::Approx(expected).epsilon(1e-13));
}

TEST_CASE("mse, l1 and bce_with_logits are one mean per sample") {
  torch::manual_seed(3);
  const int64_t rows = 6, elements = 4;
  Tensor outputs = 2 * torch::randn({rows, elements}, torch::kFloat64);
  Tensor targets = torch::rand({rows, elements}, torch::kFloat64);
  targets[1][2] = -7;  // left out by `ignore`
  targets[4].fill_(-7);
  targets[5].fill_(NAN);  // a padding row holds anything
  outputs[5].fill_(INFINITY);
  const Batch batch = batch_of(targets, torch::tensor({1, 1, 1, 1, 1, 0}).to(torch::kBool));
  const auto reference = [&](auto one) {
    double sum = 0;
    for (int64_t i = 0; i < rows - 1; ++i) {
      double row = 0;
      int64_t counted = 0;
      for (int64_t j = 0; j < elements; ++j) {
        if (element(targets, {i, j}) == -7) continue;
        row += one(element(outputs, {i, j}), element(targets, {i, j}));
        ++counted;
      }
      if (counted) sum += row / static_cast<double>(counted);
    }
    return sum;
  };
  const auto bce = [](double x, double y) {
    return std::log1p(std::exp(-std::abs(x))) + std::max(x, 0.0) - x * y;
  };
  const auto weighted = [](double x, double y) {
    return -2.5 * y * std::log(1 / (1 + std::exp(-x))) - (1 - y) * std::log(1 / (1 + std::exp(x)));
  };
  const struct {
    plan::Component component;
    double expected;
  } cases[] = {
      {component("mse", {{"ignore", -7}}), reference([](double o, double t) { return (o - t) * (o - t); })},
      {component("l1", {{"ignore", -7}}), reference([](double o, double t) { return std::abs(o - t); })},
      {component("bce_with_logits", {{"ignore", -7}}), reference(bce)},
      {component("bce_with_logits", {{"ignore", -7}, {"pos_weight", 2.5}}), reference(weighted)},
  };
  for (const auto& one : cases) {
    CAPTURE(one.component.name);
    const auto loss = make_loss(one.component);
    Tensor leaf = outputs.detach().clone().requires_grad_();
    const Tensor sum = loss->sum(leaf, batch);
    CHECK(value(sum) == doctest::Approx(one.expected).epsilon(1e-12));
    CHECK(loss->elements(batch) == 4);
    CHECK(count(plan::CountUnit::samples, batch, -7) == 4);
    CHECK(count(plan::CountUnit::tokens, batch, -7) == 4);
    sum.backward();
    CHECK(leaf.grad().isfinite().all().item<bool>());
    CHECK(value(leaf.grad()[5].abs().sum()) == 0);
    CHECK(element(leaf.grad(), {1, 2}) == 0);
  }
}

TEST_CASE("per samples, mse is the usual mean") {
  torch::manual_seed(4);
  const Tensor outputs = torch::randn({5, 3}, torch::kFloat64),
               targets = torch::randn({5, 3}, torch::kFloat64);
  double sum = 0;
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t j = 0; j < 3; ++j) sum += std::pow(element(outputs, {i, j}) - element(targets, {i, j}), 2);
  CHECK(value(make_loss(component("mse"))->sum(outputs, batch_of(targets))) / 5 == doctest::Approx(sum / 15));
}

TEST_CASE("one output column against a plain list of targets does not broadcast to a square") {
  const Tensor outputs = doubles({1, 2, 3}).view({3, 1});
  CHECK(value(make_loss(component("mse"))->sum(outputs, batch_of(doubles({1, 2, 5})))) == doctest::Approx(4));
  // Two-class labels as integers.
  CHECK(value(make_loss(component("bce_with_logits"))
                  ->sum(torch::zeros({4, 1}, torch::kFloat64), batch_of(classes({0, 1, 1, -100})))) ==
        doctest::Approx(3 * std::log(2.0)));
}

TEST_CASE("bce_with_logits stays finite far from zero") {
  const Tensor outputs = doubles({800, -800, 800, -800}).view({4, 1});
  CHECK(value(make_loss(component("bce_with_logits"))->sum(outputs, batch_of(doubles({1, 0, 0, 1})))) ==
        doctest::Approx(1600).epsilon(1e-14));
}

TEST_CASE("counts") {
  Batch batch = batch_of(classes({5, -100, 7, -100, -100, -100, 7, 7, 7}).view({3, 3}));
  batch.positions = 9;
  CHECK(count(plan::CountUnit::tokens, batch) == 5);
  CHECK(count(plan::CountUnit::tokens, batch, 7) == 1);
  CHECK(count(plan::CountUnit::tokens, batch, -100) == 5);
  CHECK(count(plan::CountUnit::samples, batch) == 2);
  CHECK(count(plan::CountUnit::samples, batch, 7) == 1);
  CHECK(count(plan::CountUnit::positions, batch, 7) == 9);
  CHECK(count(plan::CountUnit::window, batch) == 1);
  CHECK(count(plan::CountUnit::constant, batch) == 1);
  CHECK(count(plan::CountUnit::micro_batch, batch) == 1);
  CHECK_THROWS_AS(count(plan::CountUnit::boxes, batch), Error);
  CHECK_THROWS_AS(count(plan::CountUnit::class_weight, batch), Error);
  batch.targets.fill_(-100);
  CHECK(count(plan::CountUnit::micro_batch, batch) == 0);
}

TEST_CASE("metrics") {
  SUBCASE("accuracy over tokens that count") {
    const Tensor outputs = doubles({0, 2, 1, /**/ 3, 0, 0, /**/ 0, 0, 9, /**/ 1, 0, 0}).view({2, 2, 3});
    const Batch batch = batch_of(classes({1, 1, 2, -100}).view({2, 2}));
    const MetricSum sum = make_metric("accuracy", {})->sum(outputs, batch);
    CHECK(sum.numerator == 2);
    CHECK(sum.denominator == 3);
    const MetricSum masked = make_metric("accuracy", 2)->sum(outputs, batch);
    CHECK(masked.numerator == 1);
    CHECK(masked.denominator == 2);
  }
  SUBCASE("accuracy of logits against yes and no") {
    const Batch batch = batch_of(doubles({1, 0, 1, 0}), torch::tensor({1, 1, 1, 0}).to(torch::kBool));
    const MetricSum sum = make_metric("accuracy", {})->sum(doubles({3, -1, -2, 5}).view({4, 1}), batch);
    CHECK(sum.numerator == 2);
    CHECK(sum.denominator == 3);
  }
  SUBCASE("mse and l1") {
    const Tensor outputs = doubles({1, 2, 3, 4}).view({2, 2}), targets = doubles({1, 4, 0, 4}).view({2, 2});
    CHECK(make_metric("mse", {})->sum(outputs, batch_of(targets)).numerator == doctest::Approx(2 + 4.5));
    CHECK(make_metric("l1", {})->sum(outputs, batch_of(targets)).numerator == doctest::Approx(1 + 1.5));
    CHECK(make_metric("l1", {})->sum(outputs, batch_of(targets)).denominator == 2);
  }
  SUBCASE("nothing that counts") {
    const Batch batch = batch_of(torch::zeros({0, 3}, torch::kInt64));
    const MetricSum sum = make_metric("accuracy", {})->sum(torch::zeros({0, 3, 4}), batch);
    CHECK(sum.numerator == 0);
    CHECK(sum.denominator == 0);
  }
  SUBCASE("unknown") {
    CHECK(make_metric("f1", {}) == nullptr);
  }
}

TEST_CASE("info_nce: the other rows that count are the negatives") {
  torch::manual_seed(5);
  const Tensor outputs = torch::randn({5, 3}, torch::kFloat64),
               targets = torch::randn({5, 3}, torch::kFloat64);
  const Tensor valid = torch::tensor({1, 1, 0, 1, 1}).to(torch::kBool);
  const std::vector<int64_t> rows = {0, 1, 3, 4};
  const double temperature = 0.2;
  const auto cosine = [&](int64_t i, int64_t j) {
    double dot = 0, a = 0, b = 0;
    for (int64_t d = 0; d < 3; ++d) {
      const double x = element(outputs, {i, d}), y = element(targets, {j, d});
      dot += x * y;
      a += x * x;
      b += y * y;
    }
    return dot / std::sqrt(a) / std::sqrt(b);
  };
  double expected = 0;
  for (const int64_t i : rows) {
    double all = 0;
    for (const int64_t j : rows) all += std::exp(cosine(i, j) / temperature);
    expected += std::log(all) - cosine(i, i) / temperature;
  }
  const auto loss = make_loss(component("info_nce", {{"temperature", temperature}}));
  CHECK(value(loss->sum(outputs, batch_of(targets, valid))) == doctest::Approx(expected).epsilon(1e-13));
  CHECK(loss->elements(batch_of(targets, valid)) == 4);
  // Nothing that counts: 0, connected to the outputs.
  const Tensor leaf = outputs.clone().requires_grad_();
  const Tensor none = loss->sum(leaf, batch_of(targets, torch::zeros({5}, torch::kBool)));
  none.backward();
  CHECK(value(none) == 0);
  CHECK(leaf.grad().abs().sum().item<double>() == 0);
  CHECK(error_of([] {
          make_loss(component("info_nce", {{"negatives", "window"}}));
        }).find("whole window") != std::string::npos);
  CHECK(error_of([&] {
          loss->sum(outputs, batch_of(doubles({1, 2, 3, 4, 5})));
        }).find("embedding") != std::string::npos);
}

TEST_CASE("what does not fit is said") {
  const auto entropy = make_loss(component("cross_entropy"));
  const Tensor outputs = torch::zeros({2, 4}, torch::kFloat64);
  CHECK(error_of([] { make_loss(component("cross_entropi")); }).find("cross_entropy") != std::string::npos);
  CHECK(error_of([] {
          make_loss(component("mse", {{"reduction", "mean"}}));
        }).find("`reduction`") != std::string::npos);
  CHECK(error_of([] {
          make_loss(component("cross_entropy", {{"label_smoothing", 1.5}}));
        }).find("[0, 1)") != std::string::npos);
  CHECK(error_of([] {
          make_loss(component("cross_entropy", {{"ignore", 0.5}}));
        }).find("whole number") != std::string::npos);
  CHECK(error_of([&] {
          entropy->sum(outputs, batch_of(classes({1, 9})));
        }).find("class 9") != std::string::npos);
  CHECK(error_of([&] {
          entropy->sum(outputs, batch_of(classes({1, -3})));
        }).find("class -3") != std::string::npos);
  CHECK(error_of([&] {
          entropy->sum(outputs, batch_of(classes({1, 2, 3})));
        }).find("[2, 4]") != std::string::npos);
  CHECK(error_of([&] {
          entropy->sum(outputs, batch_of(doubles({1, 2})));
        }).find("numbers") != std::string::npos);
  CHECK(
      error_of([&] {
        make_loss(component("cross_entropy", {{"weights", {1, 2}}}))->sum(outputs, batch_of(classes({1, 2})));
      }).find("2 weights for 4 classes") != std::string::npos);
  CHECK(error_of([&] {
          make_loss(component("mse"))->sum(outputs, batch_of(doubles({1, 2})));
        }).find("[4]") != std::string::npos);
}
