#include "compiler/kernels/split.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <stdexcept>

namespace loop::kernels {
namespace {

using plan::Expression;
using Statement = plan::UpdateRule::Statement;

[[noreturn]] void refuse(const plan::UpdateRule& rule, const std::string& why) {
  throw std::invalid_argument("update rule " + rule.name + ": " + why);
}

class Splitter {
 public:
  explicit Splitter(const plan::UpdateRule& rule) : rule_(rule) {
    defined_["param"] = defined_["grad"] = 0;
    for (const std::string& state : rule.states) defined_[state] = 0;
  }

  Split run() {
    for (const Statement& statement : rule_.statements) {
      const Part part = take(statement.value);
      if (statement.kind == Statement::Kind::let && !part.per_element) {
        numbers_[statement.target] = slot(part.expression);
        continue;
      }
      if (statement.kind == Statement::Kind::assign && !defined_.contains(statement.target))
        refuse(rule_, "`" + statement.target + "` is no state");
      out_.elements.push_back({statement.kind, statement.target, per_element(part)});
      if (statement.kind == Statement::Kind::let) defined_[statement.target] = out_.elements.size();
    }
    return std::move(out_);
  }

 private:
  struct Part {
    Expression expression;
    bool per_element = false;
  };

  /// The expression with every maximal part that is one number per tensor read from a slot.
  Part take(const Expression& expression) {
    switch (expression.kind) {
      case Expression::Kind::constant:
        return {expression};
      case Expression::Kind::variable:
        return variable(expression);
      case Expression::Kind::apply:
        break;
    }
    if (expression.name == "norm") return {norm(expression)};
    if (!plan::is_function(expression.name, expression.operands.size()))
      refuse(rule_, "there is no function `" + expression.name + "` of " +
                        std::to_string(expression.operands.size()));
    std::vector<Part> parts;
    for (const Expression& operand : expression.operands) parts.push_back(take(operand));
    const bool any =
        std::any_of(parts.begin(), parts.end(), [](const Part& part) { return part.per_element; });
    Part result{Expression::apply(expression.name, {}), any};
    for (const Part& part : parts)
      result.expression.operands.push_back(any ? per_element(part) : part.expression);
    return result;
  }

  Part variable(const Expression& expression) const {
    if (defined_.contains(expression.name)) return {expression, true};
    if (const auto number = numbers_.find(expression.name); number != numbers_.end()) return {number->second};
    const bool known = expression.name == "step" || std::find(rule_.hyper.begin(), rule_.hyper.end(),
                                                              expression.name) != rule_.hyper.end();
    if (!known) refuse(rule_, "`" + expression.name + "` is not defined where it is read");
    return {expression};
  }

  Expression norm(const Expression& expression) {
    if (expression.operands.size() != 1 || expression.operands[0].kind != Expression::Kind::variable)
      refuse(rule_, "`norm` takes the name of one value");
    const std::string& of = expression.operands[0].name;
    const auto defined = defined_.find(of);
    if (defined == defined_.end())
      refuse(rule_, "`" + norm_name(of) + "`: `" + of + "` is not defined before it");
    const bool known = std::any_of(out_.norms.begin(), out_.norms.end(),
                                   [&](const Split::Norm& norm) { return norm.of == of; });
    if (!known) out_.norms.push_back({of, defined->second});
    return Expression::variable(norm_name(of));
  }

  Expression per_element(const Part& part) {
    return part.per_element || part.expression.kind == Expression::Kind::constant ? part.expression
                                                                                  : slot(part.expression);
  }

  Expression slot(const Expression& value) {
    if (value.kind == Expression::Kind::constant) return value;
    if (value.kind == Expression::Kind::variable && slot_of(value.name) >= 0) return value;
    const auto same = std::find(out_.scalars.begin(), out_.scalars.end(), value);
    const auto index = static_cast<size_t>(same - out_.scalars.begin());
    if (same == out_.scalars.end()) out_.scalars.push_back(value);
    return Expression::variable(slot_name(index));
  }

  const plan::UpdateRule& rule_;
  std::map<std::string, size_t> defined_;      // one number per element: after how many of out_.elements
  std::map<std::string, Expression> numbers_;  // lets that are one number per tensor: their slot or constant
  Split out_;
};

}  // namespace

std::string slot_name(size_t slot) {
  return "$" + std::to_string(slot);
}

int slot_of(const std::string& name) {
  if (name.empty() || name[0] != '$') return -1;
  int slot = -1;
  std::from_chars(name.data() + 1, name.data() + name.size(), slot);
  return slot;
}

std::string norm_name(const std::string& of) {
  return "norm(" + of + ")";
}

Split split(const plan::UpdateRule& rule) {
  return Splitter(rule).run();
}

}  // namespace loop::kernels
