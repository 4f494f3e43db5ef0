#include "compiler/syntax/tree_builder.h"

#include <antlr4-runtime.h>

#include <algorithm>

#include "LoopParser.h"
#include "compiler/base/limits.h"
#include "compiler/syntax/literals.h"
#include "compiler/syntax/precedence.h"

namespace loop::syntax {
namespace {

using antlr4::ParserRuleContext;
using antlr4::tree::ParseTree;
using base::Span;
using diagnostics::Code;

/// Children are read by place from `children`, never by ANTLR's `rule(i)`, which searches from the start each
/// time.
class TreeBuilder {
 public:
  TreeBuilder(const ParsedText& parsed, Findings& findings) : parsed_(parsed), findings_(findings) {}

  std::vector<ast::ItemPtr> items(LoopParser::ItemsContext* rule) {
    std::vector<ast::ItemPtr> result;
    for (ParseTree* child : rule->children) {
      auto* item_rule = dynamic_cast<LoopParser::ItemContext*>(child);
      if (item_rule == nullptr || item_rule->exception) continue;
      if (ast::ItemPtr built = item(item_rule)) result.push_back(std::move(built));
    }
    return result;
  }

  ast::ExprPtr whole_expression(LoopParser::ExpressionContext* rule) {
    failed_ = false;
    Value value = expr(static_cast<LoopParser::ExprContext*>(rule->children[0]));
    if (failed_ || findings_.marked(0, static_cast<uint32_t>(parsed_.text.size()) + 1)) return nullptr;
    return value.expr;
  }

 private:
  // ---- places
  // -----------------------------------------------------------------------------------------------------------
  static size_t first_index(const ParserRuleContext* rule) { return rule->start->getTokenIndex(); }
  static size_t last_index(const ParserRuleContext* rule) { return rule->stop->getTokenIndex(); }
  static size_t index_of(ParseTree* terminal) {
    return static_cast<antlr4::tree::TerminalNode*>(terminal)->getSymbol()->getTokenIndex();
  }
  static bool is_terminal(ParseTree* tree) {
    return dynamic_cast<antlr4::tree::TerminalNode*>(tree) != nullptr;
  }
  const Token& token(size_t index) const { return parsed_.tokens[index]; }
  TokenKind kind_of(ParseTree* terminal) const { return token(index_of(terminal)).kind; }
  Span span(size_t first, size_t last) const { return {parsed_.file, token(first).begin, token(last).end}; }
  Span span(const ParserRuleContext* rule) const { return span(first_index(rule), last_index(rule)); }
  std::string_view text(size_t index) const {
    return parsed_.text.substr(token(index).begin, token(index).end - token(index).begin);
  }
  ast::Name name(size_t index) const { return {std::string(text(index)), span(index, index)}; }

  void fail(Finding finding) {
    if (!failed_) findings_.add(std::move(finding));
    failed_ = true;
  }

  // ---- items
  // ------------------------------------------------------------------------------------------------------------
  ast::ItemPtr item(LoopParser::ItemContext* rule) {
    auto result = std::make_shared<ast::Item>();
    result->span = span(rule);
    // Blocks reset `failed_` for their own items; what counts here is this statement without its block.
    const bool outer_failed = failed_;
    failed_ = false;
    auto* block_rule = dynamic_cast<LoopParser::BlockContext*>(rule->children.back());
    switch (token(first_index(rule)).kind) {
      case TokenKind::use_word:
        result->node = use_item(rule);
        break;
      case TokenKind::when_word:
        result->node = when_item(rule);
        break;
      default:
        result->node = head_item(rule);
    }
    const bool failed = failed_ || marked(rule, block_rule);
    failed_ = outer_failed;
    if (failed) return nullptr;
    return result;
  }

  /// Whether something was reported between the statement before and the statement after, the block not
  /// counted.
  bool marked(const ParserRuleContext* rule, const ParserRuleContext* block_rule) const {
    const size_t first = first_index(rule);
    const uint32_t begin = first == 0 ? 0 : token(first - 1).end;
    const size_t after = last_index(rule) + 1;
    uint32_t end =
        after < parsed_.tokens.size() ? token(after).begin : static_cast<uint32_t>(parsed_.text.size());
    if (block_rule != nullptr) end = token(first_index(block_rule)).begin;
    return findings_.marked(begin, end);
  }

  std::variant<ast::Use, ast::When, ast::Head> use_item(ParserRuleContext* rule) {
    if (auto* assignment = dynamic_cast<LoopParser::AssignmentContext*>(rule->children[1])) {
      return key_item(rule, assignment);
    }
    ast::Use use;
    use.dots = static_cast<int>(rule->children.size()) - 2;
    use.path = path(static_cast<ParserRuleContext*>(rule->children.back()));
    return use;
  }

  std::variant<ast::Use, ast::When, ast::Head> when_item(ParserRuleContext* rule) {
    if (auto* assignment = dynamic_cast<LoopParser::AssignmentContext*>(rule->children[1])) {
      return key_item(rule, assignment);
    }
    ast::When when;
    when.condition = expr(rule->children[1]).expr;
    when.body = block(rule->children[2]);
    return when;
  }

  /// `use = …`, `when = …`
  ast::Head key_item(ParserRuleContext* rule, LoopParser::AssignmentContext* assignment) {
    ast::Head head;
    head.keyword = name(first_index(rule));
    assign(head, assignment);
    for (size_t i = 2; i < rule->children.size(); ++i) head.clauses.push_back(clause(rule->children[i]));
    return head;
  }

  ast::Head head_item(ParserRuleContext* rule) {
    ast::Head head;
    head.keyword = name(first_index(rule));
    for (size_t i = 1; i < rule->children.size(); ++i) {
      if (is_terminal(rule->children[i])) {
        head.name = name(index_of(rule->children[i]));
        continue;
      }
      auto* part = static_cast<ParserRuleContext*>(rule->children[i]);
      switch (part->getRuleIndex()) {
        case LoopParser::RuleArgs: {
          size_t height = 0;
          head.args = args(part, height);
          head.args_span = span(part);
          break;
        }
        case LoopParser::RuleExtension:
          head.extends = path(static_cast<ParserRuleContext*>(part->children[1]));
          break;
        case LoopParser::RuleAssignment:
          assign(head, part);
          break;
        case LoopParser::RuleClause:
          head.clauses.push_back(clause(part));
          break;
        default:
          head.block = block(part);
      }
    }
    return head;
  }

  void assign(ast::Head& head, ParserRuleContext* rule) {
    head.assign = kind_of(rule->children[0]) == TokenKind::assign ? ast::Assign::equals : ast::Assign::arrow;
    head.value = expr(rule->children[1]).expr;
  }

  ast::Block block(ParseTree* tree) {
    auto* rule = static_cast<ParserRuleContext*>(tree);
    ast::Block result;
    result.span = span(rule);
    result.items = items(static_cast<LoopParser::ItemsContext*>(rule->children[1]));
    return result;
  }

  ast::Clause clause(ParseTree* tree) {
    auto* rule = static_cast<ParserRuleContext*>(tree);
    ast::Clause result;
    const size_t keyword = first_index(rule);
    result.keyword = span(keyword, keyword);
    result.span = span(rule);
    switch (token(keyword).kind) {
      case TokenKind::on_word:
        result.kind = ast::ClauseKind::on;
        for (size_t i = 1; i < rule->children.size(); i += 2) {
          result.names.push_back(name(index_of(rule->children[i])));
        }
        return result;
      case TokenKind::every_word:
        result.kind = ast::ClauseKind::every;
        break;
      case TokenKind::when_word:
        result.kind = ast::ClauseKind::when;
        break;
      default:
        result.kind = ast::ClauseKind::per;
        result.value = is_terminal(rule->children[1]) ? number(index_of(rule->children[1])).expr
                                                      : path_or_call(rule, 1).expr;
        return result;
    }
    result.value = expr(rule->children[1]).expr;
    return result;
  }

  ast::Path path(ParserRuleContext* rule) {
    ast::Path result;
    result.span = span(rule);
    for (size_t i = 0; i < rule->children.size(); i += 2) {
      result.parts.push_back(name(index_of(rule->children[i])));
    }
    return result;
  }

  // ---- arguments and lists
  // ----------------------------------------------------------------------------------------------
  /// Reports a comma that follows another one: something between them is missing.
  void check_commas(ParserRuleContext* rule) {
    for (size_t i = 1; i + 1 < rule->children.size(); ++i) {
      if (!is_terminal(rule->children[i]) || !is_terminal(rule->children[i + 1])) continue;
      if (kind_of(rule->children[i]) != TokenKind::comma ||
          kind_of(rule->children[i + 1]) != TokenKind::comma)
        continue;
      const size_t second = index_of(rule->children[i + 1]);
      fail({Code::L002, span(second, second), {"`,`", "another `,`"}, "", {}, {}});
    }
  }

  std::vector<ast::Arg> args(ParserRuleContext* rule, size_t& height) {
    check_commas(rule);
    std::vector<ast::Arg> result;
    for (ParseTree* child : rule->children) {
      if (!is_terminal(child)) result.push_back(arg(static_cast<ParserRuleContext*>(child), height));
    }
    return result;
  }

  ast::Arg arg(ParserRuleContext* rule, size_t& height) {
    ast::Arg result;
    result.span = span(rule);
    Value value = expr(rule->children[0]);
    size_t next = 1;
    if (next < rule->children.size() && is_terminal(rule->children[next])) {
      result.name = argument_name(*value.expr, index_of(rule->children[next]));
      value = expr(rule->children[next + 1]);
      next += 2;
    }
    height = std::max(height, value.height);
    result.value = std::move(value.expr);
    if (next < rule->children.size()) result.range = interval(rule->children[next], height);
    return result;
  }

  ast::Name argument_name(const ast::Expr& written, size_t mark) {
    const auto* path = std::get_if<ast::Path>(&written.node);
    if (path != nullptr && path->parts.size() == 1) return path->parts.front();
    const std::string found =
        "`" +
        std::string(parsed_.text.substr(written.span.begin,
                                        std::min<size_t>(written.span.end - written.span.begin, 40))) +
        "`";
    std::vector<std::string> helps;
    if (token(mark).kind == TokenKind::assign) helps.emplace_back("`==` compares");
    fail({Code::L001,
          written.span,
          {"an argument's name before `" + std::string(text(mark)) + "`", found},
          "",
          {},
          helps});
    return {};
  }

  ast::Interval interval(ParseTree* tree, size_t& height) {
    auto* rule = static_cast<ParserRuleContext*>(tree);  // in [ low , high )
    ast::Interval result;
    result.span = span(rule);
    result.low_closed = kind_of(rule->children[1]) == TokenKind::left_bracket;
    result.high_closed = kind_of(rule->children[5]) == TokenKind::right_bracket;
    Value low = expr(rule->children[2]);
    Value high = expr(rule->children[4]);
    height = std::max({height, low.height, high.height});
    result.low = std::move(low.expr);
    result.high = std::move(high.expr);
    return result;
  }

  // ---- values
  // -----------------------------------------------------------------------------------------------------------
  template <typename Node>
  Value value(Node node, Span place, size_t height_of_parts) {
    if (height_of_parts + 1 > base::kMaxExpressionDepth) {
      fail({Code::L014,
            place,
            {std::to_string(base::kMaxExpressionDepth)},
            "",
            {},
            {"name parts of it with `let` or `const`"}});
      height_of_parts = 0;
    }
    auto expr = std::make_shared<ast::Expr>();
    expr->node = std::move(node);
    expr->span = place;
    return {std::move(expr), height_of_parts + 1};
  }

  Value expr(ParseTree* tree) {
    auto* rule = static_cast<ParserRuleContext*>(tree);
    if (token(first_index(rule)).kind == TokenKind::if_word) {
      Value condition = expr(rule->children[1]);
      Value then_value = expr(rule->children[3]);
      Value else_value = expr(rule->children[5]);
      const size_t height = std::max({condition.height, then_value.height, else_value.height});
      return value(ast::Conditional{condition.expr, then_value.expr, else_value.expr}, span(rule), height);
    }
    if (rule->children.size() == 1) return primary(rule->children[0]);
    OperatorRow row;
    bool wants_operand = true;
    for (ParseTree* child : rule->children) {
      if (!is_terminal(child)) {
        row.operand(primary(child));
        wants_operand = false;
        continue;
      }
      const size_t op = index_of(child);
      if (wants_operand) {
        row.prefix(token(op).kind, span(op, op));
      } else {
        row.binary(token(op).kind, span(op, op));
        wants_operand = true;
      }
    }
    Value result = row.finish();
    if (row.error()) report(*row.error());
    return result;
  }

  void report(const OrderError& error) {
    if (error.kind == OrderError::Kind::too_high) {
      fail({Code::L014,
            error.place,
            {std::to_string(base::kMaxExpressionDepth)},
            "",
            {},
            {"name parts of it with `let` or `const`"}});
      return;
    }
    const std::string op(parsed_.text.substr(error.place.begin, error.place.end - error.place.begin));
    if (op == "->") {
      fail({Code::L001, error.place, {"a range of two ends, `from -> to`", "another `->`"}, "", {}, {}});
      return;
    }
    fail({Code::L015,
          error.place,
          {op},
          "",
          {},
          {"join two comparisons with `and`, as in `0 < x and x < 1`"}});
  }

  Value number(size_t index) {
    const std::string_view spelling = text(index);
    return value(ast::Number{number_value(spelling).value_or(0), std::string(spelling)}, span(index, index),
                 0);
  }

  Value path_or_call(ParserRuleContext* rule, size_t at) {
    auto* path_rule = static_cast<ParserRuleContext*>(rule->children[at]);
    if (at + 1 == rule->children.size()) return value(path(path_rule), span(path_rule), 0);
    auto* args_rule = static_cast<ParserRuleContext*>(rule->children[at + 1]);
    ast::Call call;
    size_t height = 0;
    call.callee = path(path_rule);
    call.args = args(args_rule, height);
    call.args_span = span(args_rule);
    const Span place = base::join(call.callee.span, call.args_span);
    return value(std::move(call), place, height);
  }

  Value primary(ParseTree* tree) {
    auto* rule = static_cast<ParserRuleContext*>(tree);
    const size_t first = first_index(rule);
    const std::string_view spelling = text(first);
    switch (token(first).kind) {
      case TokenKind::number:
        if (rule->children.size() == 1) return number(first);
        return value(
            ast::Quantity{number_value(spelling).value_or(0), std::string(spelling), name(first + 1)},
            span(rule), 0);
      case TokenKind::percent: {
        const double percent = number_value(spelling.substr(0, spelling.size() - 1)).value_or(0);
        return value(ast::Percent{percent / 100, std::string(spelling)}, span(rule), 0);
      }
      case TokenKind::string:
        return value(ast::Text{text_value(spelling).value}, span(rule), 0);
      case TokenKind::left_paren: {
        Value inner = expr(rule->children[1]);
        return value(ast::Parenthesized{std::move(inner.expr)}, span(rule), inner.height);
      }
      case TokenKind::left_bracket:
        return list(rule);
      default:
        return path_or_call(rule, 0);
    }
  }

  Value list(ParserRuleContext* rule) {
    check_commas(rule);
    ast::List result;
    size_t height = 0;
    for (ParseTree* child : rule->children) {
      if (is_terminal(child)) continue;
      Value element = expr(child);
      height = std::max(height, element.height);
      result.elements.push_back(std::move(element.expr));
    }
    return value(std::move(result), span(rule), height);
  }

  const ParsedText& parsed_;
  Findings& findings_;
  bool failed_ = false;  // the statement being built has an error
};

}  // namespace

std::vector<ast::ItemPtr> build_items(const ParsedText& parsed, ParserRuleContext* file_rule,
                                      Findings& findings) {
  return TreeBuilder(parsed, findings).items(static_cast<LoopParser::ItemsContext*>(file_rule->children[0]));
}

ast::ExprPtr build_expression(const ParsedText& parsed, ParserRuleContext* expression_rule,
                              Findings& findings) {
  return TreeBuilder(parsed, findings)
      .whole_expression(static_cast<LoopParser::ExpressionContext*>(expression_rule));
}

}  // namespace loop::syntax
