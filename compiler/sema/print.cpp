#include "compiler/sema/print.h"

#include "compiler/base/text.h"

namespace loop::sema {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    switch (c) {
      case '"':
        result += "\\\"";
        break;
      case '\\':
        result += "\\\\";
        break;
      case '\n':
        result += "\\n";
        break;
      case '\t':
        result += "\\t";
        break;
      case '\r':
        result += "\\r";
        break;
      default:
        result += c;
    }
  }
  return result + "\"";
}

/// Substituted values are whole trees, so operands get parentheses where precedence would read them
/// differently.
int precedence(const ast::Expr& expr) {
  if (const auto* binary = std::get_if<ast::Binary>(&expr.node)) {
    switch (binary->op) {
      case ast::BinaryOp::logical_or:
        return 1;
      case ast::BinaryOp::logical_and:
        return 2;
      case ast::BinaryOp::add:
      case ast::BinaryOp::subtract:
        return 4;
      case ast::BinaryOp::multiply:
      case ast::BinaryOp::divide:
        return 5;
      case ast::BinaryOp::power:
        return 7;
      default:
        return 3;
    }
  }
  if (std::holds_alternative<ast::Conditional>(expr.node)) return 0;
  if (std::holds_alternative<ast::Range>(expr.node)) return 0;
  if (std::holds_alternative<ast::Unary>(expr.node)) return 6;
  return 8;
}

std::string operand(const ast::Expr& expr, int at_least) {
  std::string text = to_text(expr);
  return precedence(expr) < at_least ? "(" + text + ")" : text;
}

std::string interval(const ast::Interval& range) {
  return std::string(range.low_closed ? "[" : "(") + to_text(*range.low) + ", " + to_text(*range.high) +
         (range.high_closed ? "]" : ")");
}

std::string arguments(const std::vector<ast::Arg>& args, bool definition) {
  std::string text = "(";
  for (size_t i = 0; i < args.size(); ++i) {
    if (i > 0) text += ", ";
    if (args[i].name) text += args[i].name->text + (definition ? " = " : ": ");
    text += to_text(*args[i].value);
    if (args[i].range) text += " in " + interval(*args[i].range);
  }
  return text + ")";
}

struct ExprText {
  std::string operator()(const ast::Number& node) const { return node.spelling; }
  std::string operator()(const ast::Percent& node) const { return node.spelling; }
  std::string operator()(const ast::Text& node) const { return quoted(node.value); }
  std::string operator()(const ast::Quantity& node) const { return node.spelling + " " + node.unit.text; }
  std::string operator()(const ast::Path& node) const { return node.dotted(); }
  std::string operator()(const ast::Call& node) const {
    return node.callee.dotted() + arguments(node.args, false);
  }
  std::string operator()(const ast::List& node) const {
    std::string text = "[";
    for (size_t i = 0; i < node.elements.size(); ++i)
      text += (i > 0 ? ", " : "") + to_text(*node.elements[i]);
    return text + "]";
  }
  std::string operator()(const ast::Range& node) const {
    return operand(*node.from, 1) + " -> " + operand(*node.to, 1);
  }
  std::string operator()(const ast::Unary& node) const {
    return std::string(node.op == ast::UnaryOp::negate ? "-" : "not ") + operand(*node.operand, 6);
  }
  std::string operator()(const ast::Binary& node) const {
    ast::Expr self{node, {}};
    int own = precedence(self);
    bool right_to_left = node.op == ast::BinaryOp::power;
    return operand(*node.left, right_to_left ? own + 1 : own) + " " + ast::spelling(node.op) + " " +
           operand(*node.right, right_to_left ? own : own + 1);
  }
  std::string operator()(const ast::Conditional& node) const {
    return "if " + to_text(*node.condition) + " then " + to_text(*node.then_value) + " else " +
           to_text(*node.else_value);
  }
  std::string operator()(const ast::Parenthesized& node) const { return "(" + to_text(*node.inner) + ")"; }
};

std::string clause_text(const ast::Clause& clause) {
  switch (clause.kind) {
    case ast::ClauseKind::on: {
      std::string text = "on ";
      for (size_t i = 0; i < clause.names.size(); ++i) text += (i > 0 ? ", " : "") + clause.names[i].text;
      return text;
    }
    case ast::ClauseKind::every:
      return "every " + to_text(*clause.value);
    case ast::ClauseKind::when:
      return "when " + to_text(*clause.value);
    case ast::ClauseKind::per:
      return "per " + to_text(*clause.value);
  }
  return "";
}

std::string block_text(const ast::Block& block, int indent) {
  if (block.items.empty()) return "{ }";
  return "{\n" + to_text(block.items, indent + 2) + std::string(static_cast<size_t>(indent), ' ') + "}";
}

}  // namespace

std::string to_text(const ast::Expr& expr) {
  return std::visit(ExprText{}, expr.node);
}

std::string to_text(const ast::Item& item, int indent) {
  if (const auto* use = std::get_if<ast::Use>(&item.node))
    return "use " + std::string(static_cast<size_t>(use->dots), '.') + use->path.dotted();
  if (const auto* when = std::get_if<ast::When>(&item.node))
    return "when " + to_text(*when->condition) + " " + block_text(when->body, indent);
  const auto& head = std::get<ast::Head>(item.node);
  std::string text = head.keyword.text;
  if (head.name) text += " " + head.name->text;
  bool definition = head.block || head.keyword.text == "schedule";
  if (head.args) text += arguments(*head.args, definition);
  if (head.extends) text += " extends " + head.extends->dotted();
  if (head.assign != ast::Assign::none)
    text += std::string(head.assign == ast::Assign::arrow ? " <- " : " = ") + to_text(*head.value);
  for (const ast::Clause& clause : head.clauses) text += " " + clause_text(clause);
  if (head.block) text += " " + block_text(*head.block, indent);
  return text;
}

std::string to_text(const std::vector<ast::ItemPtr>& items, int indent) {
  std::string text;
  for (const ast::ItemPtr& item : items)
    text += std::string(static_cast<size_t>(indent), ' ') + to_text(*item, indent) + "\n";
  return text;
}

}  // namespace loop::sema
