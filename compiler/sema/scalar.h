// Numeric expressions with units: constants folded, everything else kept as an expression over named
// variables.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/sema/context.h"
#include "compiler/sema/units.h"

namespace loop::sema {

/// A numeric value in its dimension's base (seconds, bytes, pieces), or a condition (`truth`).
struct Scalar {
  plan::Expression value;
  Dim dim = Dim::none;
  bool percent = false;
  bool truth = false;
  size_t size = 1;  // nodes of `value`, an upper bound
  Span span;
  /// The number, when nothing in it varies.
  std::optional<double> constant() const {
    if (value.kind == plan::Expression::Kind::constant) return value.value;
    return std::nullopt;
  }
};

/// What names and calls mean in an expression, beside constants and mathematical functions.
struct NumericScope {
  /// A variable's value, or nothing when there is none of that name.
  std::function<std::optional<Scalar>(const std::string& name, Span span)> variable;
  /// Calls that are no mathematical function. `known` tells whether the name was understood (findings are
  /// then reported).
  std::function<std::optional<Scalar>(const ast::Call& call, Span span, bool& known)> call;
  std::vector<std::string> names;  // for suggestions
  bool allow_infinity = false;
};

/// Reads an expression. Nothing when it is wrong (reported). Units: equal ones add and compare, a number
/// scales, equal ones divide to a number; a plain number compares with a quantity of a variable's unit.
std::optional<Scalar> read_scalar(Context& context, const ast::Expr& expr, const NumericScope& scope = {});

/// A quantity as a person reads it: "100 updates", "0.5", "600 s".
std::string describe(const Scalar& scalar);
/// What an expression is, for messages of the kind "expected …, found …".
std::string describe(const ast::Expr& expr);

}  // namespace loop::sema
