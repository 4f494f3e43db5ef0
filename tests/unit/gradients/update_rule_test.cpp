// Update rules against their formulas written out, and against LibTorch's own optimizers.
#include "runtime/gradients/update_rule.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "compiler/kernels/compiled_rule.h"
#include "small_models.h"
#include "tests/support/standard_rules.h"

using namespace loop;
using namespace loop::gradients;
using namespace loop::testing;

namespace {

/// The standard library's rule for steps with these constants, one excepted that follows a schedule.
UpdateRule rule(const std::string& optimizer, const HyperValues& hyper, const std::string& scheduled = "lr") {
  plan::Operation step;
  step.kind = plan::OpKind::step;
  step.rule.optimizer = optimizer;
  for (const auto& [name, value] : hyper) {
    step.rule.hyper.push_back({name, name == scheduled ? plan::Expression::variable("updates")
                                                       : plan::Expression::constant(value)});
  }
  plan::Plan plan;
  plan.update = {step};
  return {completed(plan).rules.at(0), kernels::rule_compiler()};
}

HyperValues with_lr(HyperValues hyper, double lr) {
  for (auto& [name, value] : hyper)
    if (name == "lr") value = lr;
  return hyper;
}

double get(const HyperValues& hyper, const std::string& name) {
  for (const auto& [key, value] : hyper)
    if (key == name) return value;
  FAIL("no hyper-parameter " << name);
  return 0;
}

// A learning rate that goes up and down, as schedules do.
double learning_rate(int update) {
  return 0.01 * (1.2 + std::sin(0.3 * update));
}

/// The formulas of the three rules, one element at a time, in plain double arithmetic.
struct Reference {
  std::string optimizer;
  std::vector<double> parameter, m, v;
  int step = 0;

  void apply(const std::vector<double>& gradient, const HyperValues& hyper) {
    ++step;
    const double lr = get(hyper, "lr"), decay = get(hyper, "weight_decay");
    for (size_t i = 0; i < parameter.size(); ++i) {
      double g = gradient[i];
      if (optimizer == "std.optimizers.sgd") {
        const double momentum = get(hyper, "momentum"), dampening = get(hyper, "dampening");
        g += decay * parameter[i];
        m[i] = step == 1 ? g : momentum * m[i] + (1 - dampening) * g;
        const double update = momentum == 0 ? g : get(hyper, "nesterov") != 0 ? g + momentum * m[i] : m[i];
        parameter[i] -= lr * update;
        continue;
      }
      const double beta1 = get(hyper, "beta1"), beta2 = get(hyper, "beta2"), eps = get(hyper, "eps");
      if (optimizer == "std.optimizers.adam") g += decay * parameter[i];
      if (optimizer == "std.optimizers.adamw") parameter[i] -= lr * decay * parameter[i];
      m[i] = beta1 * m[i] + (1 - beta1) * g;
      v[i] = beta2 * v[i] + (1 - beta2) * g * g;
      const double m_hat = m[i] / (1 - std::pow(beta1, step));
      const double root = std::sqrt(v[i] / (1 - std::pow(beta2, step)));
      parameter[i] -= lr * m_hat / (root + eps);
    }
  }
};

std::vector<double> draw(std::mt19937_64& random, size_t count) {
  std::normal_distribution<double> normal;
  std::vector<double> numbers(count);
  for (double& number : numbers) number = normal(random);
  return numbers;
}

void give_gradient(Bag& model, const std::string& name, const std::vector<double>& gradient) {
  (values(gradient).to(model[name].scalar_type()) * model[name]).sum().backward();
}

double distance(const torch::Tensor& tensor, const std::vector<double>& expected) {
  const torch::Tensor difference = tensor.detach().to(torch::kFloat64).flatten() - values(expected);
  return (difference.norm() / values(expected).norm()).item<double>();
}

const std::vector<std::pair<std::string, HyperValues>>& cases() {
  static const std::vector<std::pair<std::string, HyperValues>> all = {
      {"std.optimizers.sgd",
       {{"lr", 0}, {"momentum", 0}, {"dampening", 0}, {"nesterov", 0}, {"weight_decay", 0}}},
      {"std.optimizers.sgd",
       {{"lr", 0}, {"momentum", 0}, {"dampening", 0.5}, {"nesterov", 0}, {"weight_decay", 0.1}}},
      {"std.optimizers.sgd",
       {{"lr", 0}, {"momentum", 0.9}, {"dampening", 0}, {"nesterov", 0}, {"weight_decay", 0.1}}},
      {"std.optimizers.sgd",
       {{"lr", 0}, {"momentum", 0.9}, {"dampening", 0.3}, {"nesterov", 0}, {"weight_decay", 0}}},
      {"std.optimizers.sgd",
       {{"lr", 0}, {"momentum", 0.9}, {"dampening", 0}, {"nesterov", 1}, {"weight_decay", 0.1}}},
      {"std.optimizers.adam",
       {{"lr", 0}, {"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}, {"weight_decay", 0}}},
      {"std.optimizers.adam",
       {{"lr", 0}, {"beta1", 0.8}, {"beta2", 0.95}, {"eps", 1e-3}, {"weight_decay", 0.1}}},
      {"std.optimizers.adamw",
       {{"lr", 0}, {"beta1", 0.9}, {"beta2", 0.99}, {"eps", 1e-8}, {"weight_decay", 0.1}}},
      {"std.optimizers.adamw",
       {{"lr", 0}, {"beta1", 0.0}, {"beta2", 0.95}, {"eps", 1e-6}, {"weight_decay", 0}}},
  };
  return all;
}

}  // namespace

TEST_CASE("100 updates equal the formulas, with a changing learning rate") {
  for (const auto& [optimizer, hyper] : cases()) {
    for (const torch::Dtype dtype : {torch::kFloat64, torch::kFloat32}) {
      CAPTURE(optimizer);
      CAPTURE(get(hyper, "weight_decay"));
      std::mt19937_64 random(3);
      const size_t size = 37;  // no multiple of a vector's length
      Reference reference{optimizer, draw(random, size), std::vector<double>(size),
                          std::vector<double>(size)};
      const auto model = std::make_shared<Bag>();
      model->add("w", values(reference.parameter));
      Parameters parameters(model, {}, dtype);
      UpdateRule update(rule(optimizer, hyper));
      ParameterGroup& group = parameters.group("all");
      update.prepare(group);
      for (int i = 0; i < 100; ++i) {
        parameters.zero_gradients();
        parameters.clear_touched();
        const std::vector<double> gradient = draw(random, size);
        give_gradient(*model, "w", gradient);
        update.apply(group, with_lr(hyper, learning_rate(i)));
        reference.apply(gradient, with_lr(hyper, learning_rate(i)));
      }
      CHECK(group.slots[0].step == 100);
      CHECK(distance((*model)["w"], reference.parameter) < (dtype == torch::kFloat64 ? 1e-12 : 1e-5));
    }
  }
}

TEST_CASE("B103: momentum holds gradients, not learning rates") {
  const HyperValues hyper = {
      {"lr", 0.1}, {"momentum", 0.9}, {"dampening", 0}, {"nesterov", 0}, {"weight_decay", 0}};
  const auto moved = [&](double second_lr) {
    const auto model = std::make_shared<Bag>();
    model->add("w", values({0}));
    Parameters parameters(model, {}, torch::kFloat64);
    UpdateRule update(rule("std.optimizers.sgd", hyper));
    update.prepare(parameters.group("all"));
    for (const double lr : {0.1, second_lr}) {
      parameters.zero_gradients();
      give_gradient(*model, "w", {1});
      update.apply(parameters.group("all"), with_lr(hyper, lr));
    }
    return -(*model)["w"].item<double>();
  };
  CHECK(moved(0.01) == doctest::Approx(0.119).epsilon(1e-14));
  CHECK(moved(0.1) == doctest::Approx(0.290).epsilon(1e-14));
}

TEST_CASE("the same paths as torch::optim") {
  std::mt19937_64 random(5);
  const std::vector<double> start = draw(random, 24);
  const auto compare = [&](const std::string& optimizer, const HyperValues& hyper, auto make_theirs) {
    std::mt19937_64 gradients(11);
    const auto model = std::make_shared<Bag>();
    model->add("w", values(start).view({4, 6}));
    Parameters parameters(model, {}, torch::kFloat64);
    UpdateRule ours(rule(optimizer, hyper));
    ours.prepare(parameters.group("all"));
    torch::Tensor w = values(start).view({4, 6}).requires_grad_();
    const auto theirs = make_theirs(w);
    for (int i = 0; i < 100; ++i) {
      const torch::Tensor gradient = values(draw(gradients, 24)).view({4, 6});
      parameters.zero_gradients();
      (gradient * (*model)["w"]).sum().backward();
      ours.apply(parameters.group("all"), with_lr(hyper, learning_rate(i)));
      w.mutable_grad() = gradient;
      theirs->param_groups()[0].options().set_lr(learning_rate(i));
      theirs->step();
    }
    CHECK(((w - (*model)["w"]).norm() / w.norm()).template item<double>() < 1e-12);
  };
  compare("std.optimizers.adamw",
          {{"lr", 0}, {"beta1", 0.9}, {"beta2", 0.99}, {"eps", 1e-8}, {"weight_decay", 0.1}},
          [](const torch::Tensor& w) {
            return std::make_unique<torch::optim::AdamW>(
                std::vector<torch::Tensor>{w},
                torch::optim::AdamWOptions().betas({0.9, 0.99}).eps(1e-8).weight_decay(0.1));
          });
  compare("std.optimizers.adam",
          {{"lr", 0}, {"beta1", 0.9}, {"beta2", 0.99}, {"eps", 1e-8}, {"weight_decay", 0.1}},
          [](const torch::Tensor& w) {
            return std::make_unique<torch::optim::Adam>(
                std::vector<torch::Tensor>{w},
                torch::optim::AdamOptions().betas({0.9, 0.99}).eps(1e-8).weight_decay(0.1));
          });
  compare("std.optimizers.sgd",
          {{"lr", 0}, {"momentum", 0.9}, {"dampening", 0}, {"nesterov", 1}, {"weight_decay", 0.1}},
          [](const torch::Tensor& w) {
            return std::make_unique<torch::optim::SGD>(
                std::vector<torch::Tensor>{w},
                torch::optim::SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(0.1));
          });
}

TEST_CASE("untouched parameters keep value, states and step count; each parameter counts its own updates") {
  for (const auto& [optimizer, hyper] : cases()) {
    CAPTURE(optimizer);
    std::mt19937_64 random(9);
    const std::vector<std::string> names = {"a", "b", "c", "d"};
    const std::vector<size_t> sizes = {5, 3, 8, 1};
    const auto model = std::make_shared<Bag>();
    std::vector<Reference> references;
    for (size_t p = 0; p < names.size(); ++p) {
      references.push_back(
          {optimizer, draw(random, sizes[p]), std::vector<double>(sizes[p]), std::vector<double>(sizes[p])});
      model->add(names[p], values(references[p].parameter));
    }
    Parameters parameters(model, {}, torch::kFloat64);
    ParameterGroup& group = parameters.group("all");
    UpdateRule update(rule(optimizer, hyper));
    update.prepare(group);
    for (int i = 0; i < 40; ++i) {
      parameters.zero_gradients();
      parameters.clear_touched();
      const HyperValues now = with_lr(hyper, learning_rate(i));
      for (size_t p = 0; p < names.size(); ++p) {
        if (std::uniform_int_distribution<int>(0, 2)(random) == 0) continue;
        // A zero gradient is not an absent one: every fifth touches with zeros.
        const std::vector<double> gradient =
            i % 5 == 0 ? std::vector<double>(sizes[p]) : draw(random, sizes[p]);
        give_gradient(*model, names[p], gradient);
        references[p].apply(gradient, now);
      }
      update.apply(group, now);
    }
    for (size_t p = 0; p < names.size(); ++p) {
      CHECK(group.slots[p].step == references[p].step);
      CHECK(distance((*model)[names[p]], references[p].parameter) < 1e-12);
    }
    // The counts differ by now, or this test shows nothing.
    CHECK(std::any_of(group.slots.begin(), group.slots.end(),
                      [&](const Slot& slot) { return slot.step != group.slots[0].step; }));
  }
}

TEST_CASE("two groups with two rules") {
  const auto model = std::make_shared<Bag>();
  model->add("a", values({1, 2}));
  model->add("b", values({3}));
  Parameters parameters(model, {group_of("a", "a"), group_of("b", "b")}, torch::kFloat64);
  const HyperValues adamw = {
      {"lr", 0.1}, {"beta1", 0.9}, {"beta2", 0.99}, {"eps", 1e-8}, {"weight_decay", 0.1}};
  const HyperValues sgd = {
      {"lr", 0.5}, {"momentum", 0}, {"dampening", 0}, {"nesterov", 0}, {"weight_decay", 0}};
  UpdateRule first(rule("std.optimizers.adamw", adamw));
  UpdateRule second(rule("std.optimizers.sgd", sgd));
  first.prepare(parameters.group("a"));
  second.prepare(parameters.group("b"));
  CHECK(parameters.group("a").states.size() == 2);
  CHECK(parameters.group("b").states.empty());
  give_gradient(*model, "a", {1, -1});
  give_gradient(*model, "b", {2});
  first.apply(parameters.group("a"), adamw);
  CHECK((*model)["b"].item<double>() == 3);
  second.apply(parameters.group("b"), sgd);
  CHECK((*model)["b"].item<double>() == 2);
  // The first Adam step has length lr in the direction of the sign, after the decay by lr·weight_decay.
  CHECK((*model)["a"][0].item<double>() == doctest::Approx(0.99 - 0.1).epsilon(1e-7));
  CHECK((*model)["a"][1].item<double>() == doctest::Approx(1.98 + 0.1).epsilon(1e-7));
}

TEST_CASE("a momentum that starts at 0 and grows follows the formula") {
  std::mt19937_64 random(13);
  UpdateRule update = rule("std.optimizers.sgd", cases()[3].second, "momentum");
  Reference reference{"std.optimizers.sgd", draw(random, 6), std::vector<double>(6), std::vector<double>(6)};
  const auto model = std::make_shared<Bag>();
  model->add("w", values(reference.parameter));
  Parameters parameters(model, {}, torch::kFloat64);
  update.prepare(parameters.group("all"));
  for (const double momentum : {0.0, 0.0, 0.5, 0.9, 0.0, 0.9}) {
    HyperValues hyper = with_lr(cases()[3].second, 0.1);
    for (auto& [name, value] : hyper)
      if (name == "momentum") value = momentum;
    parameters.zero_gradients();
    const std::vector<double> gradient = draw(random, 6);
    give_gradient(*model, "w", gradient);
    update.apply(parameters.group("all"), hyper);
    reference.apply(gradient, hyper);
    CHECK(distance((*model)["w"], reference.parameter) < 1e-14);
  }
}

TEST_CASE("the factor is applied on the way, and zeros are left behind") {
  for (const auto& [optimizer, hyper] : cases()) {
    CAPTURE(optimizer);
    std::mt19937_64 random(17);
    const std::vector<double> start = draw(random, 19), gradient = draw(random, 19);
    std::vector<torch::Tensor> results;
    for (const bool folded : {false, true}) {
      const auto model = std::make_shared<Bag>();
      model->add("w", values(start));
      model->add("unused", values({4}));
      Parameters parameters(model, {}, torch::kFloat64);
      ParameterGroup& group = parameters.group("all");
      UpdateRule update = rule(optimizer, hyper);
      update.prepare(group);
      for (int i = 0; i < 3; ++i) {
        give_gradient(*model, "w", gradient);
        parameters.scale_gradients({}, 0.3, folded ? Parameters::Pass::folded : Parameters::Pass::now);
        CHECK(group.factor == (folded ? 0.3 : 1));
        update.apply(group, with_lr(hyper, learning_rate(i)), folded);
        if (folded) CHECK(group.gradients.abs().sum().item<double>() == 0);
        parameters.zero_gradients();
        CHECK(group.factor == 1);
        CHECK(group.gradients.abs().sum().item<double>() == 0);
      }
      results.push_back(parameters.flat_parameters());
    }
    CHECK((results[0] - results[1]).norm().item<double>() < 1e-15 * results[0].norm().item<double>() * 10);
  }
}

TEST_CASE("a state that no step can read is not kept") {
  const HyperValues plain = cases()[0].second, with_momentum = cases()[2].second;
  const auto states = [](UpdateRule update) {
    const auto model = std::make_shared<Bag>();
    model->add("w", values({1, 2}));
    Parameters parameters(model, {}, torch::kFloat64);
    update.prepare(parameters.group("all"));
    return parameters.group("all").states.size();
  };
  CHECK(states(rule("std.optimizers.sgd", plain)) == 0);
  CHECK(states(rule("std.optimizers.sgd", with_momentum)) == 1);
  CHECK(states(rule("std.optimizers.sgd", plain, "momentum")) == 1);
  CHECK(states(rule("std.optimizers.adamw", cases()[7].second)) == 2);
}

TEST_CASE("a rule with norms treats every tensor by itself, however long and on however many threads") {
  const HyperValues hyper = {
      {"lr", 0.1}, {"beta1", 0.9}, {"beta2", 0.99}, {"eps", 1e-6}, {"weight_decay", 0.01}};
  std::mt19937_64 random(19);
  const std::vector<size_t> sizes = {5, 300000, 1};
  std::vector<std::vector<double>> start, gradient;
  for (const size_t size : sizes) {
    start.push_back(draw(random, size));
    gradient.push_back(draw(random, size));
  }
  const auto run = [&](const std::vector<size_t>& tensors, int threads) {
    const int before = at::get_num_threads();
    at::set_num_threads(threads);
    const auto model = std::make_shared<Bag>();
    for (const size_t t : tensors) model->add("w" + std::to_string(t), values(start[t]));
    Parameters parameters(model, {}, torch::kFloat64);
    UpdateRule update = rule("std.optimizers.lamb", hyper);
    update.prepare(parameters.group("all"));
    for (int i = 0; i < 3; ++i) {
      for (const size_t t : tensors) give_gradient(*model, "w" + std::to_string(t), gradient[t]);
      update.apply(parameters.group("all"), hyper, true);
    }
    at::set_num_threads(before);
    return parameters.flat_parameters();
  };
  const torch::Tensor together = run({0, 1, 2}, 2);
  CHECK(torch::equal(together, run({0, 1, 2}, 1)));
  CHECK(torch::equal(together, torch::cat({run({0}, 1), run({1}, 2), run({2}, 1)})));
}

TEST_CASE("memory that changed is measured anew") {
  const auto model = std::make_shared<Bag>();
  model->add("a", values({0, 0}));
  model->add("b", values({0}));
  Parameters parameters(model, {group_of("a", "a"), group_of("b", "b")}, torch::kFloat64);
  give_gradient(*model, "a", {3, 0});
  CHECK(parameters.gradient_norm({}) == 3);
  give_gradient(*model, "b", {4});  // another backward
  CHECK(parameters.gradient_norm({}) == doctest::Approx(5).epsilon(1e-15));
  parameters.scale_gradients({"a"}, 4, Parameters::Pass::folded);
  CHECK(parameters.growing());
  CHECK(parameters.gradient_norm({}) == doctest::Approx(std::sqrt(160)).epsilon(1e-15));
  CHECK(parameters.clip_norm({"b"}, 1, Parameters::Pass::folded) == 4);
  CHECK(parameters.flat_gradient().equal(values({12, 0, 1})));
  parameters.settle();
  CHECK(parameters.group("a").gradients.equal(values({12, 0})));
  CHECK(parameters.clip_value({}, 2) == 1);
  CHECK(parameters.gradient_norm({}) == doctest::Approx(std::sqrt(5)).epsilon(1e-15));
  parameters.group("a").gradients.data_ptr<double>()[0] = 7;  // a reduction over ranks writes like this
  parameters.group("a").gradients_written();
  CHECK(parameters.gradient_norm({"a"}) == 7);
  parameters.zero_gradients();
  CHECK(parameters.gradient_norm({}) == 0);
}
