#include "compiler/kernels/compiled_rule.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

#include "tests/unit/kernels/rules.h"

using namespace loop;
using namespace loop::kernels;
using kernels::test::scalars;
using kernels::test::Step;
using kernels::test::step_of;
using kernels::test::Tensor;

namespace {

const char* const kSteps[] = {"sgd(lr: 0.1, momentum: 0.9)",
                              "adam(lr: 0.01, weight_decay: 0.1)",
                              "adamw(lr: 0.01)",
                              "amsgrad(lr: 0.01)",
                              "nadam(lr: 0.01)",
                              "rmsprop(lr: 0.01, momentum: 0.8, centered: true)",
                              "adagrad(lr: 0.1, lr_decay: 0.1)",
                              "lion(lr: 0.01, weight_decay: 0.1)",
                              "lamb(lr: 0.01, weight_decay: 0.1)",
                              "lars(lr: 0.1, weight_decay: 0.1)",
                              "adan(lr: 0.01, weight_decay: 0.02)",
                              "sophia(lr: 0.01)"};

template <class T>
std::vector<T> numbers(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(normal(random));
  return values;
}

/// The rule executed statement by statement with plan::evaluate, in FP64: an executor that shares no code
/// with the compiler.
class Literal {
 public:
  Literal(Step step, std::vector<double> param) : step_(std::move(step)), param_(std::move(param)) {
    for (const std::string& state : step_.rule.states) states_[state].assign(param_.size(), 0);
  }

  const std::vector<double>& run(const std::vector<double>& grad) {
    ++count_;
    std::map<std::string, std::vector<double>> values = states_;
    values["param"] = param_;
    values["grad"] = grad;
    std::map<std::string, double> norms;
    const auto measure = [&](const std::string& name) {
      double sum = 0;
      for (double x : values[name]) sum += x * x;
      norms["norm(" + name + ")"] = std::sqrt(sum);
    };
    for (const auto& [name, value] : std::map(values)) measure(name);
    for (const plan::UpdateRule::Statement& statement : step_.rule.statements) {
      std::vector<double> result(param_.size());
      for (size_t i = 0; i < result.size(); ++i)
        result[i] = plan::evaluate(norms_as_variables(statement.value), [&](std::string_view view) {
                      const std::string name(view);
                      if (name == "step") return std::optional<double>(count_);
                      if (norms.contains(name)) return std::optional(norms[name]);
                      if (step_.hyper.contains(name)) return std::optional(step_.hyper[name]);
                      return std::optional(values.at(name)[i]);
                    }).value();
      values[statement.target] = result;
      if (statement.kind == plan::UpdateRule::Statement::Kind::let) measure(statement.target);
    }
    for (auto& [name, state] : states_) state = values[name];
    return param_ = values["param"];
  }

 private:
  static plan::Expression norms_as_variables(plan::Expression expression) {
    if (expression.name == "norm" && expression.operands.size() == 1)
      return plan::Expression::variable("norm(" + expression.operands[0].name + ")");
    for (plan::Expression& operand : expression.operands) operand = norms_as_variables(operand);
    return expression;
  }

  Step step_;
  std::vector<double> param_;
  std::map<std::string, std::vector<double>> states_;
  int count_ = 0;
};

template <class T>
void run(const CompiledRule& rule, const Step& step, Tensor<T>& tensor, int count, double factor = 1,
         bool zero = false) {
  std::map<std::string, double> known = step.hyper;
  known["step"] = count;
  rule.update(tensor.arrays(), scalars(rule, tensor, known, factor), factor, 0,
              static_cast<int64_t>(tensor.param.size()), zero);
}

}  // namespace

TEST_CASE("every rule of the standard library does what its text says, in FP64") {
  for (const char* text : kSteps) {
    CAPTURE(text);
    const Step step = step_of(text);
    const auto rule = CompiledRule::compile(step.rule, Element::f64);
    Tensor<double> tensor(numbers<double>(37, 1), rule->states());
    Literal literal(step, tensor.param);
    for (int t = 1; t <= 20; ++t) {
      tensor.grad = numbers<double>(37, static_cast<uint64_t>(100 + t));
      const std::vector<double>& expected = literal.run(tensor.grad);
      run(*rule, step, tensor, t);
      double worst = 0;
      for (size_t i = 0; i < expected.size(); ++i)
        worst = std::max(worst, std::abs(tensor.param[i] - expected[i]) / (1 + std::abs(expected[i])));
      CHECK(worst < 1e-13);
    }
  }
}

TEST_CASE("FP32 is FP64 to rounding") {
  for (const char* text : kSteps) {
    CAPTURE(text);
    const Step step = step_of(text);
    const auto narrow = CompiledRule::compile(step.rule, Element::f32);
    const auto wide = CompiledRule::compile(step.rule, Element::f64);
    Tensor<float> single(numbers<float>(1000, 1), narrow->states());
    Tensor<double> twice(std::vector<double>(single.param.begin(), single.param.end()), wide->states());
    for (int t = 1; t <= 5; ++t) {
      single.grad = numbers<float>(1000, static_cast<uint64_t>(t));
      twice.grad.assign(single.grad.begin(), single.grad.end());
      run(*narrow, step, single, t);
      run(*wide, step, twice, t);
    }
    double difference = 0, size = 0;
    for (size_t i = 0; i < 1000; ++i) {
      difference += std::pow(single.param[i] - twice.param[i], 2);
      size += std::pow(twice.param[i], 2);
    }
    CHECK(std::sqrt(difference / size) < 1e-5);
  }
}

TEST_CASE("factor and zeroing belong to the pass") {
  const Step step = step_of("adamw(lr: 0.01, weight_decay: 0.1)");
  const auto rule = CompiledRule::compile(step.rule, Element::f64);
  Tensor<double> scaled(numbers<double>(19, 1), rule->states()), folded = scaled;
  scaled.grad = folded.grad = numbers<double>(19, 2);
  const std::vector<double> gradient = folded.grad;
  for (double& g : scaled.grad) g *= 0.125;
  run(*rule, step, scaled, 1);
  run(*rule, step, folded, 1, 0.125);
  CHECK(folded.param == scaled.param);
  CHECK(folded.states == scaled.states);
  CHECK(folded.grad == gradient);  // left as it was
  run(*rule, step, folded, 2, 0.125, true);
  CHECK(folded.grad == std::vector<double>(19, 0.0));
}

TEST_CASE("the result does not depend on how the elements are divided") {
  for (const char* text : kSteps) {
    CAPTURE(text);
    const Step step = step_of(text);
    const auto rule = CompiledRule::compile(step.rule, Element::f32);
    Tensor<float> whole(numbers<float>(1003, 1), rule->states());
    whole.grad = numbers<float>(1003, 2);
    Tensor<float> pieces = whole;
    std::map<std::string, double> known = step.hyper;
    known["step"] = 1;
    const std::vector<double> slots = scalars(*rule, whole, known);
    rule->update(whole.arrays(), slots, 1, 0, 1003, false);
    for (int64_t begin = 0; begin < 1003; begin += 59)
      rule->update(pieces.arrays(), slots, 1, begin, std::min<int64_t>(begin + 59, 1003), false);
    CHECK(pieces.param == whole.param);
    CHECK(pieces.states == whole.states);
  }
}

TEST_CASE("a NaN or an infinity stays in its element, and is not lost there") {
  const Step step = step_of("adamw(lr: 0.01)");
  const auto rule = CompiledRule::compile(step.rule, Element::f32);
  Tensor<float> tensor(numbers<float>(64, 1), rule->states()), clean = tensor;
  tensor.grad = clean.grad = numbers<float>(64, 2);
  tensor.grad[5] = std::numeric_limits<float>::quiet_NaN();
  tensor.grad[40] = std::numeric_limits<float>::infinity();
  run(*rule, step, tensor, 1);
  run(*rule, step, clean, 1);
  for (size_t i = 0; i < 64; ++i) {
    if (i == 5 || i == 40)
      CHECK_FALSE(std::isfinite(tensor.param[i]));
    else
      CHECK(tensor.param[i] == clean.param[i]);
  }
}

TEST_CASE("every function of the language has element-wise code that agrees with its evaluation") {
  const std::string text = R"(
optimizer odd(lr) {
  state s
  let a = if grad > 0 and not (param < -1) or param == 0 then sqrt(abs(grad)) else exp(-abs(param))
  let b = min(a, grad, 0.5) + max(grad, param) - mod(param, 0.7)
  let c = floor(grad * 3) + ceil(param * 2) + sign(param) + sin(grad) * cos(param)
  let d = log(1 + abs(c)) + (1 + abs(grad)) ^ 1.5 + param ^ 2
  let e = (param > 0) + (grad >= 0) * 2 + (grad != param) + (param <= 0.3)
  s     <- s + a
  param <- param + lr * (b + c + d + e) / (1 + s)
}
)";
  const Step step = step_of("odd(lr: 0.01)", text);
  const auto rule = CompiledRule::compile(step.rule, Element::f64);
  Tensor<double> tensor(numbers<double>(101, 3), rule->states());
  Literal literal(step, tensor.param);
  for (int t = 1; t <= 3; ++t) {
    tensor.grad = numbers<double>(101, static_cast<uint64_t>(t));
    const std::vector<double>& expected = literal.run(tensor.grad);
    run(*rule, step, tensor, t);
    for (size_t i = 0; i < expected.size(); ++i)
      CHECK(tensor.param[i] == doctest::Approx(expected[i]).epsilon(1e-13));
  }
}

TEST_CASE("the update is vectorised for this processor; what depends on a clock stands outside of the loop") {
  const std::string ir = optimised_ir(step_of("adamw(lr: 0.01)").rule, Element::f32);
  CHECK(ir.find(" x float>") != std::string::npos);
  CHECK(ir.find("llvm.pow") == std::string::npos);
  CHECK(ir.find(" fast ") == std::string::npos);
}

TEST_CASE("the device's code, run thread by thread, gives the host's numbers") {
  for (const char* text :
       {"adamw(lr: 0.01, weight_decay: 0.1)", "lion(lr: 0.01)", "sgd(lr: 0.1, momentum: 0.9)"}) {
    CAPTURE(text);
    const Step step = step_of(text);
    const auto rule = CompiledRule::compile(step.rule, Element::f32);
    for (const int64_t threads : {1, 7, 256, 4096}) {
      Tensor<float> host(numbers<float>(1001, 1), rule->states());
      host.grad = numbers<float>(1001, 2);
      Tensor<float> device = host;
      std::map<std::string, double> known = step.hyper;
      known["step"] = 1;
      const std::vector<double> slots = scalars(*rule, host, known);
      rule->update(host.arrays(), slots, 0.5, 0, 1001, true);
      run_device_code(step.rule, Element::f32, device.arrays(), slots, 0.5, 1001, true, threads);
      CHECK(device.param == host.param);
      CHECK(device.states == host.states);
      CHECK(device.grad == host.grad);
    }
  }
}

TEST_CASE("PTX is made for rules whose loop needs no library, and refused for the others") {
  for (const char* text : kSteps) {
    CAPTURE(text);
    const std::string ptx = to_ptx(step_of(text).rule, Element::f32, 9, 0);
    CHECK(ptx.find(".visible .entry update(") != std::string::npos);
    CHECK(ptx.find(".target sm_90") != std::string::npos);
    CHECK(ptx.find("call") == std::string::npos);
  }
  const Step step = step_of("odd(lr: 0.1)", "optimizer odd(lr) { param <- param - lr * exp(-grad) }\n");
  CHECK_THROWS_WITH_AS(to_ptx(step.rule, Element::f32, 9, 0),
                       "update rule odd: `exp` of every element has no device code", std::invalid_argument);
}

TEST_CASE("one rule is compiled once per process") {
  const Step step = step_of("adamw(lr: 0.01)");
  CHECK(cached_rule(step.rule, Element::f32) == cached_rule(step.rule, Element::f32));
  CHECK(cached_rule(step.rule, Element::f32) != cached_rule(step.rule, Element::f64));
  plan::UpdateRule renamed = step.rule;
  renamed.statements.pop_back();
  CHECK(cached_rule(step.rule, Element::f32) != cached_rule(renamed, Element::f32));
}

TEST_CASE("a rule without a meaning is refused with its name") {
  const auto rule = [](plan::Expression value) {
    return plan::UpdateRule{
        "mine", {"lr"}, {}, {{plan::UpdateRule::Statement::Kind::assign, "param", value}}};
  };
  using plan::Expression;
  CHECK_THROWS_WITH_AS(split(rule(Expression::variable("later"))),
                       "update rule mine: `later` is not defined where it is read", std::invalid_argument);
  CHECK_THROWS_WITH_AS(split(rule(Expression::apply("norm", {Expression::variable("lr")}))),
                       "update rule mine: `norm(lr)`: `lr` is not defined before it", std::invalid_argument);
  CHECK_THROWS_WITH_AS(split(rule(Expression::apply("tan", {Expression::variable("grad")}))),
                       "update rule mine: there is no function `tan` of 1", std::invalid_argument);
}
