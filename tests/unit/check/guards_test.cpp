// Guards whose value the spec leaves open are executed both ways, and never contradict themselves.
#include <doctest/doctest.h>

#include <set>

#include "compiler/check/typestate/choices.h"
#include "compiler/check/typestate/condition.h"

using namespace loop;
using plan::Expression;

namespace {

Expression compare(const char* how, const char* clock, double value) {
  return Expression::apply(how, {Expression::variable(clock), Expression::constant(value)});
}

std::optional<double> nothing(std::string_view) {
  return std::nullopt;
}

}  // namespace

TEST_CASE("every combination of open questions is visited once") {
  check::Choices choices;
  std::set<std::pair<bool, bool>> seen;
  int visits = 0;
  do {
    const bool first = choices.decide("a");
    seen.insert({first, choices.decide("b")});
    CHECK(choices.decide("a") == first);
    ++visits;
  } while (choices.next());
  CHECK(visits == 4);
  CHECK(seen.size() == 4);
}

TEST_CASE("a condition and its negation never hold at once") {
  const Expression less = compare("<", "updates", 50);
  const Expression at_least = compare(">=", "updates", 50);
  check::Choices choices;
  int holding = 0;
  do {
    const bool first = check::holds(less, nothing, choices);
    const bool second = check::holds(at_least, nothing, choices);
    CHECK(first != second);
    CHECK(check::holds(Expression::apply("not", {less}), nothing, choices) == second);
    holding += first;
  } while (choices.next());
  CHECK(holding == 1);
}

TEST_CASE("what is known is not asked") {
  check::Choices choices;
  const auto lookup = [](std::string_view name) -> std::optional<double> {
    if (name == "last") return 1;
    return std::nullopt;
  };
  CHECK(check::holds(Expression::variable("last"), lookup, choices));
  CHECK(check::holds(Expression::apply("or", {Expression::variable("last"), compare("<", "updates", 1)}),
                     lookup, choices));
  CHECK_FALSE(choices.next());
}

TEST_CASE("counts of a rank or a micro-batch differ between ranks") {
  CHECK(check::can_differ_between_ranks(compare(">", "tokens.rank", 0)));
  CHECK(check::can_differ_between_ranks(compare(">", "tokens.micro", 0)));
  CHECK_FALSE(check::can_differ_between_ranks(compare(">", "tokens.global", 0)));
  CHECK_FALSE(check::can_differ_between_ranks(compare(">", "updates", 0)));
}
