#include "compiler/check/typestate/condition.h"

namespace loop::check {
namespace {

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// `a <= b` is asked as `not a > b`, so that both have one question.
struct Question {
  std::string text;
  bool negated = false;
};

Question question_of(const plan::Expression& comparison) {
  static const std::pair<const char*, const char*> kOpposites[] = {{"<=", ">"}, {">=", "<"}, {"!=", "=="}};
  for (const auto& [opposite, base] : kOpposites) {
    if (comparison.name == opposite && comparison.operands.size() == 2) {
      return {plan::to_text(plan::Expression::apply(base, comparison.operands)), true};
    }
  }
  return {plan::to_text(comparison), false};
}

}  // namespace

bool can_differ_between_ranks(const plan::Expression& condition) {
  for (const std::string& variable : plan::variables(condition)) {
    if (ends_with(variable, ".rank") || ends_with(variable, ".micro")) return true;
  }
  return false;
}

bool holds(const plan::Expression& condition, const plan::Lookup& lookup, Choices& choices,
           const std::string& moment) {
  if (const std::optional<double> value = plan::evaluate(condition, lookup)) return *value != 0;
  const auto operand = [&](size_t index) {
    return holds(condition.operands[index], lookup, choices, moment);
  };
  if (condition.kind == plan::Expression::Kind::apply) {
    if (condition.name == "not") return !operand(0);
    if (condition.name == "and") return operand(0) && operand(1);
    if (condition.name == "or") return operand(0) || operand(1);
    if (condition.name == "if") return operand(0) ? operand(1) : operand(2);
  }
  const Question question = question_of(condition);
  return choices.decide(question.text + moment) != question.negated;
}

}  // namespace loop::check
