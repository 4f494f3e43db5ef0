#include "compiler/syntax/precedence.h"

#include <algorithm>

#include "compiler/base/limits.h"

namespace loop::syntax {
namespace {

constexpr int kRange = 1;
constexpr int kNot = 4;
constexpr int kComparison = 5;
constexpr int kNegate = 8;
constexpr int kPower = 9;

int binding_of(TokenKind kind) {
  switch (kind) {
    case TokenKind::right_arrow:
      return kRange;
    case TokenKind::or_word:
      return 2;
    case TokenKind::and_word:
      return 3;
    case TokenKind::plus:
    case TokenKind::minus:
      return 6;
    case TokenKind::star:
    case TokenKind::slash:
      return 7;
    case TokenKind::caret:
      return kPower;
    default:
      return kComparison;
  }
}

ast::BinaryOp binary_op(TokenKind kind) {
  switch (kind) {
    case TokenKind::or_word:
      return ast::BinaryOp::logical_or;
    case TokenKind::and_word:
      return ast::BinaryOp::logical_and;
    case TokenKind::less:
      return ast::BinaryOp::less;
    case TokenKind::less_equal:
      return ast::BinaryOp::less_equal;
    case TokenKind::greater:
      return ast::BinaryOp::greater;
    case TokenKind::greater_equal:
      return ast::BinaryOp::greater_equal;
    case TokenKind::equal:
      return ast::BinaryOp::equal;
    case TokenKind::not_equal:
      return ast::BinaryOp::not_equal;
    case TokenKind::plus:
      return ast::BinaryOp::add;
    case TokenKind::minus:
      return ast::BinaryOp::subtract;
    case TokenKind::star:
      return ast::BinaryOp::multiply;
    case TokenKind::slash:
      return ast::BinaryOp::divide;
    default:
      return ast::BinaryOp::power;
  }
}

}  // namespace

void OperatorRow::prefix(TokenKind kind, base::Span place) {
  pending_.push_back({kind, place, true, kind == TokenKind::not_word ? kNot : kNegate});
}

void OperatorRow::operand(Value value) {
  values_.push_back(std::move(value));
}

void OperatorRow::binary(TokenKind kind, base::Span place) {
  const int binding = binding_of(kind);
  const bool from_right = kind == TokenKind::caret;
  while (!pending_.empty() &&
         (pending_.back().binding > binding || (pending_.back().binding == binding && !from_right))) {
    const bool repeated = pending_.back().binding == binding && !pending_.back().is_prefix;
    if (repeated && (binding == kComparison || binding == kRange)) fail(OrderError::Kind::chained, place);
    reduce();
  }
  pending_.push_back({kind, place, false, binding});
}

Value OperatorRow::finish() {
  while (!pending_.empty()) reduce();
  return std::move(values_.back());
}

void OperatorRow::reduce() {
  const Pending op = pending_.back();
  pending_.pop_back();
  if (op.is_prefix) {
    reduce_prefix(op);
  } else {
    reduce_binary(op);
  }
}

void OperatorRow::reduce_prefix(const Pending& op) {
  Value& value = values_.back();
  if (value.height + 1 > base::kMaxExpressionDepth) return fail(OrderError::Kind::too_high, op.place);
  auto expr = std::make_shared<ast::Expr>();
  expr->span = base::join(op.place, value.expr->span);
  const auto kind = op.kind == TokenKind::not_word ? ast::UnaryOp::logical_not : ast::UnaryOp::negate;
  expr->node = ast::Unary{kind, std::move(value.expr)};
  value = {std::move(expr), value.height + 1};
}

void OperatorRow::reduce_binary(const Pending& op) {
  Value right = std::move(values_.back());
  values_.pop_back();
  Value& left = values_.back();
  const size_t height = 1 + std::max(left.height, right.height);
  if (height > base::kMaxExpressionDepth)
    return fail(OrderError::Kind::too_high, op.place);  // `left` stands for the row
  auto expr = std::make_shared<ast::Expr>();
  expr->span = base::join(left.expr->span, right.expr->span);
  if (op.kind == TokenKind::right_arrow) {
    expr->node = ast::Range{std::move(left.expr), std::move(right.expr)};
  } else {
    expr->node = ast::Binary{binary_op(op.kind), std::move(left.expr), std::move(right.expr), op.place};
  }
  left = {std::move(expr), height};
}

void OperatorRow::fail(OrderError::Kind kind, base::Span place) {
  if (!error_) error_ = OrderError{kind, place};
}

}  // namespace loop::syntax
