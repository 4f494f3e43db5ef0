#include "runtime/engine/steps.h"

#include <cmath>
#include <map>

#include "loop/error.h"
#include "runtime/engine/variables.h"

namespace loop::engine {

namespace {

void collect(const std::vector<plan::Operation>& operations, std::vector<const plan::Operation*>& steps) {
  for (const plan::Operation& operation : operations) {
    if (operation.kind == plan::OpKind::step) steps.push_back(&operation);
    collect(operation.body, steps);
  }
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : "+") + name;
  return text.empty() ? "all" : text;
}

/// The name itself the first time, then "name#2", "name#3" …
std::string unique(const std::string& name, std::map<std::string, int>& used) {
  const int number = ++used[name];
  return number == 1 ? name : name + "#" + std::to_string(number);
}

}  // namespace

Steps::Steps(const plan::Plan& plan, gradients::Parameters& parameters, const plan::RuleCompiler& compile) {
  std::vector<const plan::Operation*> operations;
  collect(plan.micro, operations);
  collect(plan.update, operations);
  std::map<std::string, std::shared_ptr<gradients::UpdateRule>> rules;
  std::map<std::string, std::string> rule_of_group;
  std::map<std::string, int> labels;
  for (const plan::Operation* operation : operations) {
    std::shared_ptr<gradients::UpdateRule>& rule = rules[operation->rule.optimizer];
    if (!rule) {
      const plan::UpdateRule* text = plan.rule_of(operation->rule);
      if (!text)
        throw Error(ErrorKind::findings, "the plan lacks the update rule " + operation->rule.optimizer,
                    "make it anew with `loopc plan --json`");
      rule = std::make_shared<gradients::UpdateRule>(*text, compile);
    }
    Entry entry{rule, {}, unique(joined(operation->groups), labels)};
    if (operation->groups.empty()) {
      for (gradients::ParameterGroup& group : parameters.groups()) entry.groups.push_back(&group);
    } else {
      for (const std::string& name : operation->groups) entry.groups.push_back(&parameters.group(name));
    }
    for (gradients::ParameterGroup* group : entry.groups) {
      const auto [known, fresh] = rule_of_group.try_emplace(group->name, operation->rule.optimizer);
      if (fresh) {
        entry.rule->prepare(*group);
      } else if (known->second != operation->rule.optimizer) {
        throw Error(ErrorKind::findings,
                    "group '" + group->name + "' is stepped by " + known->second + " and by " +
                        operation->rule.optimizer,
                    "let exactly one step act on each group");
      }
    }
    entries_.emplace(operation, std::move(entry));
  }
  for (const gradients::ParameterGroup& group : parameters.groups()) {
    if (!rule_of_group.contains(group.name)) {
      throw Error(ErrorKind::findings, "no step acts on group '" + group.name + "'",
                  "add a step on it, or freeze it: " + group.name + " = frozen(…)");
    }
  }
}

const Steps::Entry& Steps::entry(const plan::Operation& step) const {
  const auto found = entries_.find(&step);
  if (found == entries_.end()) throw Error(ErrorKind::internal, "a step that is not part of the plan");
  return found->second;
}

const std::string& Steps::label(const plan::Operation& step) const {
  return entry(step).label;
}

double Steps::apply(const plan::Operation& step, const plan::Lookup& lookup) const {
  const Entry& entry = this->entry(step);
  gradients::HyperValues values;
  double rate = 0;
  for (const plan::NamedExpression& hyper : step.rule.hyper) {
    const double value = value_of(hyper.value, lookup, hyper.name + " of " + step.rule.optimizer);
    if (!std::isfinite(value)) {
      throw Error(ErrorKind::training,
                  hyper.name + " of " + step.rule.optimizer + " at " + plan::to_text(step.place) +
                      " is not a finite number: " + plan::to_text(hyper.value),
                  "check the schedule at the ends of its range");
    }
    if (hyper.name == "lr") rate = value;
    values.emplace_back(hyper.name, value);
  }
  for (gradients::ParameterGroup* group : entry.groups) entry.rule->apply(*group, values, step.zeroes);
  return rate;
}

}  // namespace loop::engine
