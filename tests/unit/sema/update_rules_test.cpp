#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "tests/unit/sema/analysis.h"

using namespace loop;
using loop::testing::Analysis;
using loop::testing::kTiny;
using loop::testing::replace;

namespace {

/// Executes a rule's statements on one scalar parameter.
class Interpreter {
 public:
  Interpreter(const std::string& step, double param)
      : analysis_(
            "use std.optimizers.adam\nuse std.optimizers.adamw\nuse std.optimizers.amsgrad\nuse "
            "std.optimizers.nadam\nuse std.optimizers.rmsprop\nuse std.optimizers.adagrad\n"
            "use std.optimizers.lion\nuse std.optimizers.lamb\nuse std.optimizers.lars\nuse "
            "std.optimizers.adan\nuse std.optimizers.sophia\n" +
            replace(kTiny, "sgd(lr: 0.1)", step)),
        param_(param) {
    INFO(analysis_.text());
    REQUIRE(analysis_.engine.diagnostics().empty());
    for (const std::string& state : analysis_.spec().rules[0].states) states_[state] = 0;
  }

  double step(double grad) {
    const sema::RuleDefinition& rule = analysis_.spec().rules[0];
    std::map<std::string, double, std::less<>> values(states_.begin(), states_.end());
    values["param"] = param_;
    values["grad"] = grad;
    values["step"] = ++count_;
    for (const auto& hyper : analysis_.spec().update.operations[1].op.rule.hyper)
      values[hyper.name] = hyper.value.value;
    auto lookup = [&](std::string_view name) -> std::optional<double> {
      auto found = values.find(name);
      return found == values.end() ? std::nullopt : std::optional(found->second);
    };
    for (const auto& statement : rule.statements) {
      double value = plan::evaluate(without_norms(statement.value), lookup).value();
      if (statement.kind == sema::RuleDefinition::Statement::Kind::let)
        values[statement.target] = value;
      else if (statement.target == "param")
        values["param"] = param_ = value;
      else
        values[statement.target] = states_[statement.target] = value;
    }
    return param_;
  }

 private:
  /// The norm of a tensor of one element.
  static plan::Expression without_norms(plan::Expression expression) {
    if (expression.name == "norm") expression.name = "abs";
    for (plan::Expression& operand : expression.operands) operand = without_norms(operand);
    return expression;
  }

  Analysis analysis_;
  double param_;
  std::map<std::string, double> states_;
  int count_ = 0;
};

double gradient(int t) {
  return std::sin(0.7 * t) + 0.3;
}

}  // namespace

TEST_CASE("sgd is torch.optim.SGD") {
  for (bool nesterov : {false, true}) {
    Interpreter rule(std::string("sgd(lr: 0.1, momentum: 0.9, weight_decay: 0.01, nesterov: ") +
                         (nesterov ? "true)" : "false)"),
                     1.0);
    double p = 1, buffer = 0;
    for (int t = 1; t <= 100; ++t) {
      double g = gradient(t) + 0.01 * p;
      buffer = t == 1 ? g : 0.9 * buffer + g;
      p -= 0.1 * (nesterov ? g + 0.9 * buffer : buffer);
      CHECK(rule.step(gradient(t)) == doctest::Approx(p).epsilon(1e-13));
    }
  }
  Interpreter damped("sgd(lr: 0.1, momentum: 0.9, dampening: 0.5)", 1.0);
  double p = 1, buffer = 0;
  for (int t = 1; t <= 20; ++t) {
    buffer = t == 1 ? gradient(t) : 0.9 * buffer + 0.5 * gradient(t);
    p -= 0.1 * buffer;
    CHECK(damped.step(gradient(t)) == doctest::Approx(p).epsilon(1e-13));
  }
}

TEST_CASE("adam adds weight decay to the gradient, adamw decays the parameter") {
  for (bool decoupled : {false, true}) {
    Interpreter rule(std::string(decoupled ? "adamw" : "adam") + "(lr: 0.01, beta2: 0.99, weight_decay: 0.1)",
                     1.0);
    double p = 1, m = 0, v = 0;
    for (int t = 1; t <= 100; ++t) {
      double g = gradient(t);
      if (decoupled)
        p -= 0.01 * 0.1 * p;
      else
        g += 0.1 * p;
      m = 0.9 * m + 0.1 * g;
      v = 0.99 * v + 0.01 * g * g;
      double denominator = std::sqrt(v) / std::sqrt(1 - std::pow(0.99, t)) + 1e-8;
      p -= 0.01 / (1 - std::pow(0.9, t)) * m / denominator;
      CHECK(rule.step(gradient(t)) == doctest::Approx(p).epsilon(1e-12));
    }
  }
}

TEST_CASE("the further rules of the standard library read, and go downhill") {
  for (const char* step :
       {"amsgrad(lr: 0.01)", "nadam(lr: 0.01)", "rmsprop(lr: 0.01, momentum: 0.5, centered: true)",
        "adagrad(lr: 0.1)", "lion(lr: 0.01)", "lamb(lr: 0.01)", "lars(lr: 1.0)", "adan(lr: 0.01)",
        "sophia(lr: 0.01)"}) {
    CAPTURE(step);
    Interpreter rule(step, 1.0);
    double p = 1;
    for (int t = 0; t < 60; ++t) p = rule.step(p);  // of the function p²/2
    CHECK(std::isfinite(p));
    CHECK(std::abs(p) < 0.999);
  }
}

TEST_CASE("a rule says what it needs") {
  Analysis analysis("use std.optimizers.lamb\n" + replace(kTiny, "sgd(lr: 0.1)", "lamb(lr: 0.1)"));
  CHECK(analysis.spec().rules[0].needs == std::vector<std::string>{"norm(param)", "norm(u)"});
  CHECK(analysis.spec().rules[0].standard);
}

TEST_CASE("a user's rule") {
  Analysis analysis(
      R"(optimizer lion(lr, beta1 = 0.9 in [0, 1), beta2 = 0.99 in [0, 1), weight_decay = 0.0 in [0, inf)) {
  state m
  let u  = sign(beta1 * m + (1 - beta1) * grad)
  m     <- beta2 * m + (1 - beta2) * grad
  param <- param - lr * (u + weight_decay * param)
}

)" + replace(kTiny, "sgd(", "lion("));
  CAPTURE(analysis.text());
  CHECK(analysis.engine.diagnostics().empty());
  const sema::RuleDefinition& rule = analysis.spec().rules[0];
  CHECK(rule.qualified_name == "lion");
  CHECK_FALSE(rule.standard);
  CHECK(rule.parameters[1].high == 1);
  CHECK_FALSE(rule.parameters[1].high_closed);
  CHECK(rule.statements.size() == 3);
}
