#include "compiler/syntax/parser.h"

#include <antlr4-runtime.h>

#include <functional>

#include "LoopParser.h"
#include "compiler/base/limits.h"
#include "compiler/syntax/brackets.h"
#include "compiler/syntax/error_strategy.h"
#include "compiler/syntax/findings.h"
#include "compiler/syntax/lexer.h"
#include "compiler/syntax/statements.h"
#include "compiler/syntax/tree_builder.h"
#include "compiler/syntax/utf8.h"
#include "compiler/syntax/words.h"

namespace loop::syntax {
namespace {

using base::Span;
using diagnostics::Code;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Feeds the prepared tokens to ANTLR's parser.
class PreparedTokens : public antlr4::TokenSource {
 public:
  PreparedTokens(const Tokens& tokens, size_t text_bytes) : tokens_(tokens), text_bytes_(text_bytes) {}

  std::unique_ptr<antlr4::Token> nextToken() override {
    const bool done = next_ >= tokens_.size();
    const size_t begin = done ? text_bytes_ : tokens_[next_].begin;
    const size_t end = done ? text_bytes_ : tokens_[next_].end;
    const size_t type = done ? antlr4::Token::EOF : static_cast<size_t>(tokens_[next_].kind);
    ++next_;
    const std::pair<antlr4::TokenSource*, antlr4::CharStream*> source{this, nullptr};
    return std::make_unique<antlr4::CommonToken>(source, type, antlr4::Token::DEFAULT_CHANNEL, begin,
                                                 end - 1);
  }
  size_t getLine() const override { return 0; }
  size_t getCharPositionInLine() override { return 0; }
  antlr4::CharStream* getInputStream() override { return nullptr; }
  std::string getSourceName() override { return "tokens"; }
  antlr4::TokenFactory<antlr4::CommonToken>* getTokenFactory() override {
    return antlr4::CommonTokenFactory::DEFAULT.get();
  }

 private:
  const Tokens& tokens_;
  size_t text_bytes_;
  size_t next_ = 0;
};

/// One text on its way to a tree. Each stage leaves its findings and says whether it makes sense to go on.
class TextParser {
 public:
  TextParser(const base::SourceManager& sources, base::FileId file)
      : text_(sources.file(file).text()), file_(file) {}

  bool prepare() {
    if (!check_bytes()) return false;
    Tokens tokens = tokenize(text_);
    drop_byte_order_mark(tokens);
    collect_comments(tokens);
    if (!pair_brackets(text_, file_, tokens, findings_)) return false;
    check_words(text_, file_, tokens, findings_);
    findings_.sort_marks();
    tokens_ = separate_statements(tokens);
    const size_t deep = first_too_deep(tokens_, base::kMaxNesting);
    if (deep == tokens_.size()) return true;
    const Span place{file_, tokens_[deep].begin, tokens_[deep].end};
    findings_.add({Code::L010, place, {std::to_string(base::kMaxNesting)}, "", {}, {}});
    return false;
  }

  std::vector<ast::ItemPtr> items() {
    return with_parser<std::vector<ast::ItemPtr>>([&](LoopParser& parser, const ParsedText& parsed) {
      return build_items(parsed, parser.file(), findings_);
    });
  }

  ast::ExprPtr expression() {
    const bool newline_behind =
        !tokens_.empty() && tokens_.back().kind == TokenKind::separator && text_[tokens_.back().begin] != ';';
    if (newline_behind) tokens_.pop_back();
    return with_parser<ast::ExprPtr>([&](LoopParser& parser, const ParsedText& parsed) -> ast::ExprPtr {
      LoopParser::ExpressionContext* rule = parser.expression();
      if (rule->exception) return nullptr;
      return build_expression(parsed, rule, findings_);
    });
  }

  std::vector<ast::Comment> take_comments() { return std::move(comments_); }
  Findings& findings() { return findings_; }

 private:
  bool check_bytes() {
    if (text_.size() > base::kMaxFileBytes) {
      findings_.add({Code::L011,
                     {file_, 0, 0},
                     {std::to_string(text_.size()), std::to_string(base::kMaxFileBytes)},
                     "",
                     {},
                     {"split the file and join the parts with `use`"}});
      return false;
    }
    if (const auto invalid = first_invalid_utf8(text_)) {
      const auto at = static_cast<uint32_t>(*invalid);
      findings_.add(
          {Code::L012, {file_, at, at + 1}, {std::to_string(at)}, "", {}, {"save the file as UTF-8"}});
      return false;
    }
    return true;
  }

  void drop_byte_order_mark(Tokens& tokens) const {
    if (!text_.starts_with(kByteOrderMark) || tokens.empty()) return;
    tokens.front().begin += kByteOrderMark.size();
    if (tokens.front().begin == tokens.front().end) tokens.erase(tokens.begin());
  }

  void collect_comments(const Tokens& tokens) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      const Token& token = tokens[i];
      if (token.kind != TokenKind::comment) continue;
      const bool own_line = i == 0 || tokens[i - 1].kind == TokenKind::newline;
      comments_.push_back({std::string(text_.substr(token.begin, token.end - token.begin)),
                           {file_, token.begin, token.end},
                           own_line});
    }
  }

  template <typename Result>
  Result with_parser(const std::function<Result(LoopParser&, const ParsedText&)>& read) {
    PreparedTokens source(tokens_, text_.size());
    antlr4::CommonTokenStream stream(&source);
    LoopParser parser(&stream);
    const ParsedText parsed{text_, file_, tokens_};
    parser.removeErrorListeners();
    parser.setErrorHandler(make_error_strategy(parsed, findings_));
    return read(parser, parsed);
  }

  std::string_view text_;
  base::FileId file_;
  Findings findings_;
  Tokens tokens_;
  std::vector<ast::Comment> comments_;
};

}  // namespace

ParseResult parse(const base::SourceManager& sources, base::FileId file, diagnostics::Engine& engine) {
  TextParser text(sources, file);
  ParseResult result;
  result.file.id = file;
  if (text.prepare()) result.file.items = text.items();
  result.file.comments = text.take_comments();
  result.had_errors = !text.findings().empty();
  text.findings().report(engine);
  return result;
}

ast::ExprPtr parse_expression(const base::SourceManager& sources, base::FileId file,
                              diagnostics::Engine& engine) {
  TextParser text(sources, file);
  ast::ExprPtr result;
  if (text.prepare()) result = text.expression();
  const bool failed = !text.findings().empty();
  text.findings().report(engine);
  return failed ? nullptr : result;
}

}  // namespace loop::syntax
