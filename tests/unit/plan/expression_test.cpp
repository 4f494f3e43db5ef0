#include "runtime/plan/expression.h"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

using namespace loop::plan;

namespace {
Expression c(double value) {
  return Expression::constant(value);
}
Expression v(const char* name) {
  return Expression::variable(name);
}
Expression f(const char* name, std::vector<Expression> operands) {
  return Expression::apply(name, std::move(operands));
}
double number(const Expression& expression) {
  return evaluate(expression, nullptr).value();
}
}  // namespace

TEST_CASE("expressions evaluate by the usual rules") {
  CHECK(number(f("+", {c(2), f("*", {c(3), c(4)})})) == 14);
  CHECK(number(f("^", {c(2), f("neg", {c(3)})})) == 0.125);
  CHECK(number(f("min", {c(3), c(1), c(2)})) == 1);
  CHECK(number(f("mod", {c(-1), c(4)})) == 3);
  CHECK(number(f("sign", {c(-2)})) == -1);
  CHECK(number(f("cos", {c(M_PI)})) == doctest::Approx(-1));
  CHECK(number(f("if", {f("<", {c(1), c(2)}), c(10), c(20)})) == 10);
  CHECK(number(f("not", {f("and", {c(1), c(0)})})) == 1);
}

TEST_CASE("unknown variables leave a value open unless it does not matter") {
  const Lookup one = [](std::string_view name) {
    return name == "updates" ? std::optional<double>(7) : std::nullopt;
  };
  CHECK(evaluate(f("+", {v("updates"), c(1)}), one) == 8);
  CHECK(!evaluate(f("+", {v("horizon"), c(1)}), one));
  CHECK(evaluate(f("or", {v("horizon"), c(1)}), one) == 1);
  CHECK(evaluate(f("and", {v("horizon"), c(0)}), one) == 0);
  CHECK(!evaluate(f("and", {v("horizon"), c(1)}), one));
  CHECK(evaluate(f("if", {c(0), v("horizon"), c(5)}), one) == 5);
}

TEST_CASE("functions that do not exist and wrong operand counts are refused") {
  CHECK_THROWS_AS(evaluate(f("frobnicate", {c(1)}), nullptr), std::invalid_argument);
  CHECK_THROWS_AS(evaluate(f("sqrt", {c(1), c(2)}), nullptr), std::invalid_argument);
  CHECK(is_function("max", 5));
  CHECK(!is_function("cos", 2));
}

TEST_CASE("simplify decides what is known and keeps the rest") {
  const Lookup horizon = [](std::string_view name) {
    return name == "horizon" ? std::optional<double>(100) : std::nullopt;
  };
  const Expression warmup = f("/", {v("updates"), f("*", {c(0.1), v("horizon")})});
  CHECK(simplify(warmup, horizon) == f("/", {v("updates"), c(10)}));
  CHECK(simplify(f("if", {f("<", {v("horizon"), c(5)}), v("updates"), v("tokens")}), horizon) == v("tokens"));
  CHECK(variables(warmup) == std::set<std::string>{"horizon", "updates"});
}

TEST_CASE("text has as few parentheses as precedence allows") {
  CHECK(to_text(f("*", {f("+", {v("a"), c(1)}), v("b")})) == "(a + 1) * b");
  CHECK(to_text(f("-", {v("a"), f("-", {v("b"), v("c")})})) == "a - (b - c)");
  CHECK(to_text(f("-", {f("-", {v("a"), v("b")}), v("c")})) == "a - b - c");
  CHECK(to_text(f("^", {f("^", {v("a"), v("b")}), v("c")})) == "(a ^ b) ^ c");
  CHECK(to_text(f("if", {f("<", {v("updates"), c(10)}), c(1), f("cos", {v("x")})})) ==
        "if updates < 10 then 1 else cos(x)");
  CHECK(to_text(f("*", {c(2), f("if", {v("a"), c(1), c(2)})})) == "2 * (if a then 1 else 2)");
  CHECK(to_text(c(0.0001)) == "0.0001");
  CHECK(to_text(c(1e-8)) == "1e-8");
  CHECK(to_text(c(2.5e20)) == "2.5e+20");
  CHECK(to_text(c(1e-100)) == "1e-100");
}
