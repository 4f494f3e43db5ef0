// Orders a flat row `operand operator operand …` by precedence, without recursion.
//
//   loosest   ->                     once
//             or
//             and
//             not                    prefix
//             < <= > >= == !=        once: comparisons do not chain
//             + -
//             * /
//             -                      prefix
//   tightest  ^                      from the right; -a ^ b is -(a ^ b)
#pragma once

#include <optional>
#include <vector>

#include "compiler/ast/ast.h"
#include "compiler/syntax/token.h"

namespace loop::syntax {

/// An expression and the height of its tree.
struct Value {
  ast::ExprPtr expr;
  size_t height = 0;
};

/// What the ordering cannot accept; `place` is the operator's.
struct OrderError {
  enum class Kind { chained, too_high } kind;
  base::Span place;
};

class OperatorRow {
 public:
  /// Row elements in the order of the text: prefixes*, operand, (binary, prefixes*, operand)*.
  void prefix(TokenKind kind, base::Span place);
  void operand(Value value);
  void binary(TokenKind kind, base::Span place);
  /// The whole row's value, or the first error; an expression is complete with its last operand.
  Value finish();
  const std::optional<OrderError>& error() const { return error_; }

 private:
  struct Pending {
    TokenKind kind;
    base::Span place;
    bool is_prefix;
    int binding;
  };
  void reduce();
  void reduce_prefix(const Pending& op);
  void reduce_binary(const Pending& op);
  void fail(OrderError::Kind kind, base::Span place);

  std::vector<Value> values_;
  std::vector<Pending> pending_;
  std::optional<OrderError> error_;
};

}  // namespace loop::syntax
