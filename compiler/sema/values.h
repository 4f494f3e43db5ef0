// Reads the values of keys: whole numbers, quantities, choices, texts. Each function reports what is wrong
// and then gives nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/sema/scalar.h"

namespace loop::sema {

struct Measured {
  double value = 0;
  Dim dim = Dim::none;
};

/// A number without a unit that is known before the run.
std::optional<double> read_number(Context& context, const ast::Expr& expr, const std::string& what);
/// A whole number of at least `low`.
std::optional<int64_t> read_whole(Context& context, const ast::Expr& expr, const std::string& what,
                                  int64_t low);
/// A positive quantity in one of the dimensions; all but epochs and time must be whole.
std::optional<Measured> read_quantity(Context& context, const ast::Expr& expr, const std::string& what,
                                      const std::vector<Dim>& allowed);
std::optional<std::string> read_text(Context& context, const ast::Expr& expr, const std::string& what);
/// `true` or `false`.
std::optional<bool> read_boolean(Context& context, const ast::Expr& expr, const std::string& what);
/// One of several names.
std::optional<std::string> read_choice(Context& context, const ast::Expr& expr, const std::string& what,
                                       const std::vector<std::string>& choices);
/// The dotted name an expression consists of, or nothing (not reported).
std::optional<std::string> as_name(const ast::Expr& expr);
/// The call an expression consists of, or null.
const ast::Call* as_call(const ast::Expr& expr);
/// Conditions joined with `or`, in order.
std::vector<const ast::Expr*> alternatives(const ast::Expr& expr);
/// `every` of evaluations, checkpoints and logs: quantities on clocks, joined with `or`.
std::vector<plan::Trigger> read_triggers(Context& context, const ast::Expr& expr, const std::string& what);

/// Arguments of a call by name, against the names it takes: unknown, repeated and surplus ones are reported.
struct NamedArguments {
  bool good = true;
  std::vector<const ast::Arg*> values;  // one per name, null when absent
};
NamedArguments match_arguments(Context& context, const std::vector<ast::Arg>& args, const std::string& callee,
                               const std::vector<std::string>& names, size_t positional);

}  // namespace loop::sema
