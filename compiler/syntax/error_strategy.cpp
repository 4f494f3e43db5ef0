#include "compiler/syntax/error_strategy.h"

#include <antlr4-runtime.h>

#include <optional>

#include "LoopParser.h"
#include "compiler/syntax/messages.h"

namespace loop::syntax {
namespace {

using antlr4::Parser;
using antlr4::RecognitionException;

class StatementErrorStrategy : public antlr4::ANTLRErrorStrategy {
 public:
  StatementErrorStrategy(const ParsedText& parsed, Findings& findings)
      : parsed_(parsed), findings_(findings) {}

  void reset(Parser* /*parser*/) override { pending_.reset(); }
  bool inErrorRecoveryMode(Parser* /*parser*/) override { return pending_.has_value(); }
  void reportMatch(Parser* /*parser*/) override {}

  /// Nothing is invented and nothing is deleted inside a statement.
  antlr4::Token* recoverInline(Parser* parser) override { throw antlr4::InputMismatchException(parser); }

  /// Called by the rule in which the error stands, then by each rule around it up to the statement: the first
  /// one counts.
  void reportError(Parser* parser, const RecognitionException& error) override {
    if (pending_) return;
    std::set<TokenKind> accepted;
    for (const ssize_t type : parser->getExpectedTokens().toList()) {
      accepted.insert(type < 0 ? TokenKind::end_of_file : static_cast<TokenKind>(type));
    }
    const size_t at = error.getOffendingToken()->getTokenIndex();
    pending_ = unexpected_in_statement(parsed_, at, part(parser), accepted);
  }

  void recover(Parser* parser, std::exception_ptr error) override {
    antlr4::ParserRuleContext* rule = parser->getContext();
    switch (rule->getRuleIndex()) {
      case LoopParser::RuleItem:
        finish_statement(parser, rule->start->getTokenIndex());
        return;
      case LoopParser::RuleExpression:
        finish_statement(parser, 0);
        return;
      default:
        std::rethrow_exception(error);
    }
  }

  /// Called before every decision. Only between statements there is something to check: that one has really
  /// ended, and that what follows can start one.
  void sync(Parser* parser) override {
    antlr4::ParserRuleContext* rule = parser->getContext();
    if (rule->getRuleIndex() != LoopParser::RuleItems) return;
    const auto next = static_cast<TokenKind>(parser->getInputStream()->LA(1));
    if (ends_statement(parser->getInputStream()->LA(1))) return;
    auto* item =
        rule->children.empty() ? nullptr : dynamic_cast<LoopParser::ItemContext*>(rule->children.back());
    if (item == nullptr && is_word(next)) return;
    const size_t at = parser->getCurrentToken()->getTokenIndex();
    pending_ = unexpected_after_statement(parsed_, at, form(item));
    if (item != nullptr && !item->exception) {
      item->exception = std::make_exception_ptr(antlr4::InputMismatchException(parser));
    }
    finish_statement(parser, item == nullptr ? at : item->start->getTokenIndex());
  }

 private:
  static bool ends_statement(size_t type) {
    return type == LoopParser::SEP || type == LoopParser::RBRACE || type == antlr4::Token::EOF;
  }

  static Part part(Parser* parser) {
    const antlr4::ParserRuleContext* rule = parser->getContext();
    const bool in_use =
        rule->getRuleIndex() == LoopParser::RuleItem && rule->start->getType() == LoopParser::USE;
    if (in_use) return Part::use;
    // A comma may follow too, but the parser has left the loop that takes it.
    if (rule->getRuleIndex() == LoopParser::RuleArgs) return Part::args;
    const bool in_list = rule->getRuleIndex() == LoopParser::RulePrimary;
    if (in_list && rule->start->getType() == LoopParser::LBRACKET) return Part::list;
    const bool only_word = rule->children.size() == 1 && rule->getRuleIndex() == LoopParser::RuleClause;
    if (only_word && rule->start->getType() == LoopParser::PER) return Part::per;
    return Part::other;
  }

  static StatementForm form(LoopParser::ItemContext* item) {
    if (item == nullptr) return StatementForm::none;
    auto* last = dynamic_cast<antlr4::ParserRuleContext*>(item->children.back());
    if (last == nullptr) return StatementForm::bare;
    return last->getRuleIndex() == LoopParser::RuleAssignment ? StatementForm::assigned
                                                              : StatementForm::other;
  }

  /// Goes to the end of the statement that began with token `first`. Blocks on the way are parsed, so that
  /// their statements are checked too; the statement around them is lost.
  void finish_statement(Parser* parser, size_t first) {
    Finding finding = std::move(*pending_);
    pending_.reset();
    while (!ends_statement(parser->getInputStream()->LA(1))) {
      if (parser->getInputStream()->LA(1) == LoopParser::LBRACE) {
        static_cast<LoopParser*>(parser)->block();
      } else {
        parser->consume();
      }
    }
    const uint32_t begin = first == 0 ? 0 : parsed_.tokens[first - 1].end;
    const size_t next = parser->getCurrentToken()->getTokenIndex();
    const bool at_end = next >= parsed_.tokens.size();
    const uint32_t end = at_end ? static_cast<uint32_t>(parsed_.text.size()) : parsed_.tokens[next].begin;
    // `end` itself is included: a bracket that is missing its partner may stand where the statement stops.
    if (!findings_.marked(begin, end + 1)) findings_.add(std::move(finding));
  }

  const ParsedText& parsed_;
  Findings& findings_;
  std::optional<Finding> pending_;
};

}  // namespace

std::shared_ptr<antlr4::ANTLRErrorStrategy> make_error_strategy(const ParsedText& parsed,
                                                                Findings& findings) {
  return std::make_shared<StatementErrorStrategy>(parsed, findings);
}

}  // namespace loop::syntax
