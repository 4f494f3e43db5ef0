#include "compiler/sema/substitute.h"

namespace loop::sema {

using diagnostics::Code;

namespace {

constexpr size_t kMaxNodes = 200'000;  // constants inside constants can multiply a text without bound
constexpr int kMaxOpenConstants = 64;  // deeper is a constant defined by itself (reported by check_constants)

ast::ExprPtr make(ast::Expr expr) {
  return std::make_shared<const ast::Expr>(std::move(expr));
}

}  // namespace

bool Substitution::spend(Span span) {
  if (++spent_ == kMaxNodes) context_.engine.report(Code::L048, span, {std::to_string(kMaxNodes)});
  return spent_ < kMaxNodes;
}

ast::ExprPtr Substitution::replaced_name(const ast::ExprPtr& original, const std::string& name) {
  ast::ExprPtr value;
  if (auto bound = bindings_.find(name); bound != bindings_.end()) {
    value = bound->second;  // already in the caller's terms
  } else if (ast::ExprPtr constant = constant_value(context_, name, original->span.file)) {
    if (open_constants_ >= kMaxOpenConstants) return original;
    ++open_constants_;
    static const Bindings kNone;
    Substitution inner(context_, kNone);  // a constant does not see a recipe's parameters
    inner.open_constants_ = open_constants_;
    inner.spent_ = spent_;
    value = inner.expr(constant);
    spent_ = inner.spent_;
    --open_constants_;
  }
  if (!value) return original;
  return make({value->node, original->span});
}

std::vector<ast::Arg> Substitution::args(const std::vector<ast::Arg>& args) {
  std::vector<ast::Arg> result = args;
  for (ast::Arg& arg : result) arg.value = expr(arg.value);
  return result;
}

ast::ExprPtr Substitution::expr(const ast::ExprPtr& original) {
  if (!original || !spend(original->span)) return original;
  Span span = original->span;
  struct Visitor {
    Substitution& self;
    const ast::ExprPtr& original;
    Span span;
    ast::ExprPtr operator()(const ast::Number&) const { return original; }
    ast::ExprPtr operator()(const ast::Percent&) const { return original; }
    ast::ExprPtr operator()(const ast::Text&) const { return original; }
    ast::ExprPtr operator()(const ast::Quantity&) const { return original; }
    ast::ExprPtr operator()(const ast::Path& node) const {
      return self.replaced_name(original, node.dotted());
    }
    ast::ExprPtr operator()(const ast::Call& node) const {
      return make({ast::Call{node.callee, self.args(node.args), node.args_span}, span});
    }
    ast::ExprPtr operator()(const ast::List& node) const {
      ast::List list;
      for (const ast::ExprPtr& element : node.elements) list.elements.push_back(self.expr(element));
      return make({std::move(list), span});
    }
    ast::ExprPtr operator()(const ast::Range& node) const {
      return make({ast::Range{self.expr(node.from), self.expr(node.to)}, span});
    }
    ast::ExprPtr operator()(const ast::Unary& node) const {
      return make({ast::Unary{node.op, self.expr(node.operand)}, span});
    }
    ast::ExprPtr operator()(const ast::Binary& node) const {
      return make({ast::Binary{node.op, self.expr(node.left), self.expr(node.right), node.op_span}, span});
    }
    ast::ExprPtr operator()(const ast::Conditional& node) const {
      return make({ast::Conditional{self.expr(node.condition), self.expr(node.then_value),
                                    self.expr(node.else_value)},
                   span});
    }
    ast::ExprPtr operator()(const ast::Parenthesized& node) const {
      return make({ast::Parenthesized{self.expr(node.inner)}, span});
    }
  };
  return std::visit(Visitor{*this, original, span}, original->node);
}

ast::Block Substitution::block(const ast::Block& block) {
  return {items(block.items), block.span};
}

ast::ItemPtr Substitution::item(const ast::ItemPtr& original) {
  if (const auto* when = std::get_if<ast::When>(&original->node))
    return std::make_shared<const ast::Item>(
        ast::Item{ast::When{expr(when->condition), block(when->body)}, original->span});
  const auto* head = std::get_if<ast::Head>(&original->node);
  if (!head) return original;
  ast::Head copy = *head;
  if (copy.args) copy.args = args(*copy.args);
  if (copy.value) copy.value = expr(copy.value);
  for (ast::Clause& clause : copy.clauses) {
    const bool is_name = clause.kind == ast::ClauseKind::per && clause.value &&
                         std::holds_alternative<ast::Path>(clause.value->node);
    if (clause.value && !is_name) clause.value = expr(clause.value);
  }
  if (copy.block) copy.block = block(*copy.block);
  return std::make_shared<const ast::Item>(ast::Item{std::move(copy), original->span});
}

std::vector<ast::ItemPtr> Substitution::items(const std::vector<ast::ItemPtr>& items) {
  std::vector<ast::ItemPtr> result;
  result.reserve(items.size());
  for (const ast::ItemPtr& one : items) result.push_back(item(one));
  return result;
}

}  // namespace loop::sema
