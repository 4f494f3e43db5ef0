#include "compiler/sema/descriptor_values.h"

#include <cmath>

#include "compiler/sema/scalar.h"

namespace loop::sema {

using diagnostics::Code;
using plan::json;

namespace {

class Evaluator {
 public:
  Evaluator(Context& context, const DescriptorNames& names) : context_(context), names_(names) {}

  std::optional<json> read(const ast::Expr& expr) {
    return std::visit([&](const auto& node) { return node_value(node, expr.span); }, expr.node);
  }

 private:
  using Result = std::optional<json>;

  Result wrong(Span span, const std::string& wanted, const ast::Expr& found) {
    context_.engine.report(Code::L050, span, {wanted, describe(found)});
    return std::nullopt;
  }

  Result node_value(const ast::Number& node, Span) { return json(node.value); }
  Result node_value(const ast::Percent& node, Span) { return json(node.fraction); }
  Result node_value(const ast::Text& node, Span) { return json(node.value); }
  Result node_value(const ast::Parenthesized& node, Span) { return read(*node.inner); }
  Result node_value(const ast::Quantity& node, Span span) {
    return wrong(span, "a plain number", ast::Expr{node, span});
  }
  Result node_value(const ast::Range& node, Span span) {
    return wrong(span, "a number or a list", ast::Expr{node, span});
  }

  Result node_value(const ast::List& node, Span) {
    json list = json::array();
    for (const ast::ExprPtr& element : node.elements) {
      Result value = read(*element);
      if (!value) return std::nullopt;
      list.push_back(std::move(*value));
    }
    return list;
  }

  Result node_value(const ast::Path& path, Span span) {
    std::string name = path.dotted();
    if (auto found = names_.find(name); found != names_.end()) return found->second;
    if (name == "true" || name == "false") return json(name == "true");
    std::vector<std::string> candidates;
    for (const auto& [known, value] : names_) candidates.push_back(known);
    suggest(context_.engine.report(Code::L062, span, {name}), span, name, candidates);
    return std::nullopt;
  }

  Result node_value(const ast::Call& call, Span span) {
    std::vector<json> values;
    for (const ast::Arg& arg : call.args) {
      Result value = read(*arg.value);
      if (!value) return std::nullopt;
      values.push_back(std::move(*value));
    }
    std::string name = call.callee.dotted();
    if (name == "count" && values.size() == 1 && values[0].is_array()) return json(values[0].size());
    if (name == "mod" && values.size() == 2) {
      if (!values[0].is_number() || !values[1].is_number()) return json(nullptr);
      return json(std::fmod(values[0].get<double>(), values[1].get<double>()));
    }
    if (name == "at" && (values.size() == 2 || values.size() == 3) && values[0].is_array() &&
        values[1].is_number()) {
      double index = values[1].get<double>();
      if (index >= 0 && index < static_cast<double>(values[0].size()))
        return values[0][static_cast<size_t>(index)];
      if (values.size() == 3) return values[2];
    }
    context_.engine.report(Code::L063, span, {name})
        .help("a descriptor knows `count(list)`, `at(list, i)`, `at(list, i, otherwise)` and `mod(a, b)`");
    return std::nullopt;
  }

  Result node_value(const ast::Unary& node, Span span) {
    Result operand = read(*node.operand);
    if (!operand || operand->is_null()) return operand;
    if (node.op == ast::UnaryOp::logical_not && operand->is_boolean()) return json(!operand->get<bool>());
    if (node.op == ast::UnaryOp::negate && operand->is_number()) return json(-operand->get<double>());
    return wrong(span, node.op == ast::UnaryOp::negate ? "a number" : "a condition", *node.operand);
  }

  Result node_value(const ast::Binary& node, Span span) {
    Result left = read(*node.left);
    Result right = read(*node.right);
    if (!left || !right) return std::nullopt;
    if (left->is_null() || right->is_null()) return json(nullptr);
    if (node.op == ast::BinaryOp::logical_and || node.op == ast::BinaryOp::logical_or) {
      if (!left->is_boolean() || !right->is_boolean())
        return wrong(span, "conditions", left->is_boolean() ? *node.right : *node.left);
      bool both = left->get<bool>() && right->get<bool>();
      return json(node.op == ast::BinaryOp::logical_and ? both : left->get<bool>() || right->get<bool>());
    }
    if (left->is_string() && right->is_string()) {
      if (node.op == ast::BinaryOp::equal) return json(*left == *right);
      if (node.op == ast::BinaryOp::not_equal) return json(*left != *right);
    }
    if (!left->is_number() || !right->is_number())
      return wrong(span, "numbers", left->is_number() ? *node.right : *node.left);
    double a = left->get<double>();
    double b = right->get<double>();
    switch (node.op) {
      case ast::BinaryOp::add:
        return json(a + b);
      case ast::BinaryOp::subtract:
        return json(a - b);
      case ast::BinaryOp::multiply:
        return json(a * b);
      case ast::BinaryOp::power:
        return json(std::pow(a, b));
      case ast::BinaryOp::divide:
        if (b == 0) {
          context_.engine.report(Code::L058, node.right->span).with_label("this is 0");
          return std::nullopt;
        }
        return json(a / b);
      case ast::BinaryOp::less:
        return json(a < b);
      case ast::BinaryOp::less_equal:
        return json(a <= b);
      case ast::BinaryOp::greater:
        return json(a > b);
      case ast::BinaryOp::greater_equal:
        return json(a >= b);
      case ast::BinaryOp::equal:
        return json(a == b);
      default:
        return json(a != b);
    }
  }

  Result node_value(const ast::Conditional& node, Span) {
    Result condition = read(*node.condition);
    if (!condition) return std::nullopt;
    if (!condition->is_boolean()) return json(nullptr);
    return read(condition->get<bool>() ? *node.then_value : *node.else_value);
  }

  Context& context_;
  const DescriptorNames& names_;
};

}  // namespace

std::optional<json> evaluate(Context& context, const ast::Expr& expr, const DescriptorNames& names) {
  return Evaluator(context, names).read(expr);
}

std::string fill_in(const std::string& text, const DescriptorNames& names) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    size_t end = text[at] == '{' ? text.find('}', at) : std::string::npos;
    if (end == std::string::npos) {
      result += text[at++];
      continue;
    }
    auto found = names.find(text.substr(at + 1, end - at - 1));
    if (found != names.end() && found->second.is_number())
      result += std::to_string(static_cast<int64_t>(found->second.get<double>()));
    else
      result += text.substr(at, end - at + 1);
    at = end + 1;
  }
  return result;
}

}  // namespace loop::sema
