// Scalar expressions: schedules, hyper-parameters, conditions. Evaluated at compile time for constants and by
// the runtime for everything that depends on a clock.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace loop::plan {

/// A tree of constants, variables (clocks such as "updates", "horizon", conditions such as "finite") and
/// applications. Booleans are 0 and 1. Functions and operators, by `name`: + - * / ^ < <= > >= == != and or
/// not neg if(c,a,b) min max abs exp log sqrt sin cos floor ceil sign mod.
struct Expression {
  enum class Kind { constant, variable, apply };
  Kind kind = Kind::constant;
  double value = 0;
  std::string name;
  std::vector<Expression> operands;

  static Expression constant(double value);
  static Expression variable(std::string name);
  static Expression apply(std::string name, std::vector<Expression> operands);
  friend bool operator==(const Expression&, const Expression&) = default;
};

/// Value of a variable, or nothing when it is not known (yet).
using Lookup = std::function<std::optional<double>(std::string_view)>;

/// The value, or nothing when a variable it needs is unknown. `and`, `or` and `if` look only at the operands
/// they need. Throws std::invalid_argument for a function that does not exist or a wrong number of operands.
std::optional<double> evaluate(const Expression& expression, const Lookup& lookup);

/// True when `name` is a function with this many operands.
bool is_function(std::string_view name, size_t operands);
/// Names of all callable functions (for suggestions), operators left out.
const std::vector<std::string>& function_names();

/// The same expression with every part that `lookup` decides replaced by its value.
Expression simplify(const Expression& expression, const Lookup& lookup);
/// The variables that occur.
std::set<std::string> variables(const Expression& expression);
/// A number as a person writes it: the shortest digits that read back equal, without an exponent between 1e-5 and 1e15.
std::string number_text(double value);
/// Infix text for a person, with as few parentheses as precedence allows.
std::string to_text(const Expression& expression);

}  // namespace loop::plan
