#include "compiler/plan/update_rule.h"

namespace loop::planner {

plan::UpdateRule update_rule(const sema::RuleDefinition& rule) {
  using From = sema::RuleDefinition::Statement::Kind;
  using To = plan::UpdateRule::Statement::Kind;
  plan::UpdateRule result;
  result.name = rule.qualified_name;
  for (const auto& parameter : rule.parameters) result.hyper.push_back(parameter.name);
  result.states = rule.states;
  for (const auto& statement : rule.statements)
    result.statements.push_back(
        {statement.kind == From::let ? To::let : To::assign, statement.target, statement.value});
  return result;
}

}  // namespace loop::planner
