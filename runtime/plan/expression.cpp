#include "runtime/plan/expression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

namespace loop::plan {
namespace {

using Values = std::vector<double>;

struct Function {
  std::string_view name;
  size_t least;
  size_t most;
  double (*apply)(const Values&);
  bool callable;   // by name in a spec; operators are not
  int precedence;  // of an infix operator, 0 for a call
};

double truth(bool value) {
  return value ? 1.0 : 0.0;
}

constexpr size_t kMany = 64;

const std::vector<Function>& functions() {
  static const std::vector<Function> kFunctions = {
      {"+", 2, 2, [](const Values& v) { return v[0] + v[1]; }, false, 5},
      {"-", 2, 2, [](const Values& v) { return v[0] - v[1]; }, false, 5},
      {"*", 2, 2, [](const Values& v) { return v[0] * v[1]; }, false, 6},
      {"/", 2, 2, [](const Values& v) { return v[0] / v[1]; }, false, 6},
      {"^", 2, 2, [](const Values& v) { return std::pow(v[0], v[1]); }, false, 8},
      {"<", 2, 2, [](const Values& v) { return truth(v[0] < v[1]); }, false, 4},
      {"<=", 2, 2, [](const Values& v) { return truth(v[0] <= v[1]); }, false, 4},
      {">", 2, 2, [](const Values& v) { return truth(v[0] > v[1]); }, false, 4},
      {">=", 2, 2, [](const Values& v) { return truth(v[0] >= v[1]); }, false, 4},
      {"==", 2, 2, [](const Values& v) { return truth(v[0] == v[1]); }, false, 4},
      {"!=", 2, 2, [](const Values& v) { return truth(v[0] != v[1]); }, false, 4},
      {"and", 2, 2, [](const Values& v) { return truth(v[0] != 0 && v[1] != 0); }, false, 2},
      {"or", 2, 2, [](const Values& v) { return truth(v[0] != 0 || v[1] != 0); }, false, 1},
      {"not", 1, 1, [](const Values& v) { return truth(v[0] == 0); }, false, 3},
      {"neg", 1, 1, [](const Values& v) { return -v[0]; }, false, 7},
      {"if", 3, 3, [](const Values& v) { return v[0] != 0 ? v[1] : v[2]; }, false, 0},
      {"min", 1, kMany, [](const Values& v) { return *std::min_element(v.begin(), v.end()); }, true, 0},
      {"max", 1, kMany, [](const Values& v) { return *std::max_element(v.begin(), v.end()); }, true, 0},
      {"abs", 1, 1, [](const Values& v) { return std::fabs(v[0]); }, true, 0},
      {"exp", 1, 1, [](const Values& v) { return std::exp(v[0]); }, true, 0},
      {"log", 1, 1, [](const Values& v) { return std::log(v[0]); }, true, 0},
      {"sqrt", 1, 1, [](const Values& v) { return std::sqrt(v[0]); }, true, 0},
      {"sin", 1, 1, [](const Values& v) { return std::sin(v[0]); }, true, 0},
      {"cos", 1, 1, [](const Values& v) { return std::cos(v[0]); }, true, 0},
      {"floor", 1, 1, [](const Values& v) { return std::floor(v[0]); }, true, 0},
      {"ceil", 1, 1, [](const Values& v) { return std::ceil(v[0]); }, true, 0},
      {"sign", 1, 1, [](const Values& v) { return v[0] > 0   ? 1.0
                                                  : v[0] < 0 ? -1.0
                                                             : v[0]; }, true, 0},
      // Floored, so that the result has the divisor's sign.
      {"mod", 2, 2, [](const Values& v) { return v[0] - v[1] * std::floor(v[0] / v[1]); }, true, 0},
  };
  return kFunctions;
}

const Function* find_function(std::string_view name) {
  for (const Function& function : functions()) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

const Function& checked_function(const Expression& expression) {
  const Function* function = find_function(expression.name);
  if (function == nullptr) throw std::invalid_argument("unknown function '" + expression.name + "'");
  if (expression.operands.size() < function->least || expression.operands.size() > function->most) {
    throw std::invalid_argument("wrong number of operands for '" + expression.name + "'");
  }
  return *function;
}

bool is_shortcut(std::string_view name) {
  return name == "and" || name == "or" || name == "if";
}

std::optional<double> evaluate_shortcut(const Expression& expression, const Lookup& lookup) {
  const auto first = evaluate(expression.operands[0], lookup);
  if (expression.name == "if") {
    if (!first) return std::nullopt;
    return evaluate(expression.operands[*first != 0 ? 1 : 2], lookup);
  }
  const bool deciding = expression.name == "or";  // the truth value that decides at once
  if (first && (*first != 0) == deciding) return truth(deciding);
  const auto second = evaluate(expression.operands[1], lookup);
  if (second && (*second != 0) == deciding) return truth(deciding);
  if (first && second) return truth(!deciding);
  return std::nullopt;
}

int precedence(const Expression& expression) {
  if (expression.kind == Expression::Kind::constant) return expression.value < 0 ? 7 : 10;
  if (expression.kind == Expression::Kind::variable) return 10;
  const Function* function = find_function(expression.name);
  if (expression.name == "if") return 0;
  return function != nullptr && function->precedence > 0 ? function->precedence : 10;
}

std::string wrapped(const Expression& expression, int least) {
  std::string text = to_text(expression);
  return precedence(expression) < least ? "(" + text + ")" : text;
}

}  // namespace

Expression Expression::constant(double value) {
  Expression out;
  out.value = value;
  return out;
}

Expression Expression::variable(std::string name) {
  Expression out;
  out.kind = Kind::variable;
  out.name = std::move(name);
  return out;
}

Expression Expression::apply(std::string name, std::vector<Expression> operands) {
  Expression out;
  out.kind = Kind::apply;
  out.name = std::move(name);
  out.operands = std::move(operands);
  return out;
}

std::optional<double> evaluate(const Expression& expression, const Lookup& lookup) {
  switch (expression.kind) {
    case Expression::Kind::constant:
      return expression.value;
    case Expression::Kind::variable:
      return lookup ? lookup(expression.name) : std::nullopt;
    case Expression::Kind::apply:
      break;
  }
  const Function& function = checked_function(expression);
  if (is_shortcut(expression.name)) return evaluate_shortcut(expression, lookup);
  Values values;
  values.reserve(expression.operands.size());
  for (const Expression& operand : expression.operands) {
    const auto value = evaluate(operand, lookup);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return function.apply(values);
}

bool is_function(std::string_view name, size_t operands) {
  const Function* function = find_function(name);
  return function != nullptr && operands >= function->least && operands <= function->most;
}

const std::vector<std::string>& function_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Function& function : functions()) {
      if (function.callable) names.emplace_back(function.name);
    }
    return names;
  }();
  return kNames;
}

Expression simplify(const Expression& expression, const Lookup& lookup) {
  if (const auto value = evaluate(expression, lookup)) return Expression::constant(*value);
  if (expression.kind != Expression::Kind::apply) return expression;
  if (expression.name == "if") {
    if (const auto condition = evaluate(expression.operands[0], lookup)) {
      return simplify(expression.operands[*condition != 0 ? 1 : 2], lookup);
    }
  }
  Expression out = expression;
  for (Expression& operand : out.operands) operand = simplify(operand, lookup);
  return out;
}

std::set<std::string> variables(const Expression& expression) {
  std::set<std::string> out;
  if (expression.kind == Expression::Kind::variable) out.insert(expression.name);
  for (const Expression& operand : expression.operands) out.merge(variables(operand));
  return out;
}

std::string number_text(double value) {
  std::array<char, 64> buffer{};
  const double size = std::fabs(value);
  const bool plain = size == 0 || (size >= 1e-5 && size < 1e15);
  const auto format = plain ? std::chars_format::fixed : std::chars_format::general;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format);
  std::string text(buffer.data(), result.ptr);
  const size_t exponent = text.find('e');  // "1e-08" reads better as "1e-8"
  if (exponent != std::string::npos && text.size() > exponent + 3 && text[exponent + 2] == '0')
    text.erase(exponent + 2, 1);
  return text;
}

std::string to_text(const Expression& expression) {
  if (expression.kind == Expression::Kind::variable) return expression.name;
  if (expression.kind == Expression::Kind::constant) {
    return number_text(expression.value);
  }
  const auto& operands = expression.operands;
  if (expression.name == "if") {
    return "if " + to_text(operands[0]) + " then " + to_text(operands[1]) + " else " + to_text(operands[2]);
  }
  const int own = precedence(expression);
  if (expression.name == "neg") return "-" + wrapped(operands[0], own);
  if (expression.name == "not") return "not " + wrapped(operands[0], own);
  const Function* function = find_function(expression.name);
  if (function != nullptr && function->precedence > 0 && operands.size() == 2) {
    // `^` binds to the right, the others to the left.
    const bool right = expression.name == "^";
    return wrapped(operands[0], right ? own + 1 : own) + " " + expression.name + " " +
           wrapped(operands[1], right ? own : own + 1);
  }
  std::string out = expression.name + "(";
  for (size_t i = 0; i < operands.size(); ++i) out += (i > 0 ? ", " : "") + to_text(operands[i]);
  return out + ")";
}

}  // namespace loop::plan
