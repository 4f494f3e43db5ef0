#include "compiler/ast/ast.h"

namespace loop::ast {

std::string Path::dotted() const {
  std::string result;
  for (const Name& part : parts) {
    if (!result.empty()) result += '.';
    result += part.text;
  }
  return result;
}

const char* spelling(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
      return "+";
    case BinaryOp::subtract:
      return "-";
    case BinaryOp::multiply:
      return "*";
    case BinaryOp::divide:
      return "/";
    case BinaryOp::power:
      return "^";
    case BinaryOp::less:
      return "<";
    case BinaryOp::less_equal:
      return "<=";
    case BinaryOp::greater:
      return ">";
    case BinaryOp::greater_equal:
      return ">=";
    case BinaryOp::equal:
      return "==";
    case BinaryOp::not_equal:
      return "!=";
    case BinaryOp::logical_and:
      return "and";
    case BinaryOp::logical_or:
      return "or";
  }
  return "";
}

const char* spelling(UnaryOp op) {
  return op == UnaryOp::negate ? "-" : "not";
}

const Expr& strip(const Expr& expr) {
  const Expr* inner = &expr;
  while (const auto* parenthesized = std::get_if<Parenthesized>(&inner->node))
    inner = parenthesized->inner.get();
  return *inner;
}

}  // namespace loop::ast
