// before: sgd(momentum: 0)   state buffer; let b = if step == 1 then g else momentum * buffer + …
//                            let u = if momentum == 0 then g else …; buffer <- b; param <- param - lr * u
// after:                     param <- param - lr * g                         nothing reads the buffer: no
// state
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/plan/passes/passes.h"

namespace loop::planner {
namespace {

using plan::Expression;
using plan::UpdateRule;

using Constants = std::map<std::string, double>;

/// The hyper-parameters that are one and the same constant in every step by this rule.
class CommonConstants {
 public:
  explicit CommonConstants(const std::string& optimizer) : optimizer_(optimizer) {}

  void look(const std::vector<plan::Operation>& operations) {
    for (const plan::Operation& operation : operations) {
      look(operation.body);
      if (operation.kind == plan::OpKind::step && operation.rule.optimizer == optimizer_)
        meet(operation.rule.hyper);
    }
  }
  const Constants& found() const { return common_; }

 private:
  void meet(const std::vector<plan::NamedExpression>& hyper) {
    Constants here;
    for (const plan::NamedExpression& one : hyper) {
      if (one.value.kind == Expression::Kind::constant) here[one.name] = one.value.value;
    }
    if (!any_) common_ = here;
    any_ = true;
    std::erase_if(common_, [&](const auto& known) {
      const auto same = here.find(known.first);
      return same == here.end() || same->second != known.second;
    });
  }

  const std::string& optimizer_;
  Constants common_;
  bool any_ = false;
};

/// The value of a condition over constants alone.
std::optional<double> known(const Expression& condition, const Constants& constants) {
  for (const std::string& name : plan::variables(condition)) {
    if (!constants.contains(name)) return std::nullopt;
  }
  return plan::evaluate(condition, [&](std::string_view name) -> std::optional<double> {
    return constants.at(std::string(name));
  });
}

/// The expression without the branches that the constants rule out.
Expression decide(const Expression& expression, const Constants& constants) {
  if (expression.kind != Expression::Kind::apply) return expression;
  if (expression.name == "if" && expression.operands.size() == 3) {
    if (const auto condition = known(expression.operands[0], constants))
      return decide(expression.operands[*condition != 0 ? 1 : 2], constants);
  }
  Expression result = expression;
  for (Expression& operand : result.operands) operand = decide(operand, constants);
  return result;
}

/// Lets and states on which `param` depends, directly or by others.
std::set<std::string> alive(const UpdateRule& rule) {
  std::set<std::string> names = {"param"};
  for (size_t before = 0; before != names.size();) {
    before = names.size();
    for (const UpdateRule::Statement& statement : rule.statements) {
      if (names.contains(statement.target)) names.merge(plan::variables(statement.value));
    }
  }
  return names;
}

}  // namespace

void specialise_rules(plan::Plan& plan) {
  for (UpdateRule& rule : plan.rules) {
    CommonConstants constants(rule.name);
    constants.look(plan.micro);
    constants.look(plan.update);
    for (UpdateRule::Statement& statement : rule.statements)
      statement.value = decide(statement.value, constants.found());
    const std::set<std::string> used = alive(rule);
    std::erase_if(rule.statements, [&](const auto& statement) { return !used.contains(statement.target); });
    std::erase_if(rule.states, [&](const std::string& state) { return !used.contains(state); });
  }
}

}  // namespace loop::planner
