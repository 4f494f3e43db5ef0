#include "compiler/syntax/lexer.h"

#include <antlr4-runtime.h>

#include "LoopLexer.h"

namespace loop::syntax {
namespace {

static_assert(static_cast<size_t>(TokenKind::separator) == LoopLexer::SEP);
static_assert(static_cast<size_t>(TokenKind::in_word) == LoopLexer::IN);
static_assert(static_cast<size_t>(TokenKind::left_brace) == LoopLexer::LBRACE);
static_assert(static_cast<size_t>(TokenKind::assign) == LoopLexer::ASSIGN);
static_assert(static_cast<size_t>(TokenKind::not_equal) == LoopLexer::NOT_EQUAL);
static_assert(static_cast<size_t>(TokenKind::bad_character) == LoopLexer::BAD_CHARACTER);

/// Gives ANTLR the bytes of the text as its symbols. Token places are then byte offsets without conversion.
/// Bytes of a multi-byte character can stand only in strings and comments, where the grammar takes any
/// symbol.
class ByteStream : public antlr4::CharStream {
 public:
  explicit ByteStream(std::string_view text) : text_(text) {}

  void consume() override { ++position_; }
  size_t LA(ssize_t offset) override {
    const auto at = static_cast<ssize_t>(position_) + offset - (offset > 0 ? 1 : 0);
    if (at < 0 || at >= static_cast<ssize_t>(text_.size())) return IntStream::EOF;
    return static_cast<unsigned char>(text_[static_cast<size_t>(at)]);
  }
  ssize_t mark() override { return -1; }
  void release(ssize_t /*marker*/) override {}
  size_t index() override { return position_; }
  void seek(size_t index) override { position_ = std::min(index, text_.size()); }
  size_t size() override { return text_.size(); }
  std::string getSourceName() const override { return "text"; }
  std::string getText(const antlr4::misc::Interval& interval) override {
    const auto begin = std::min(static_cast<size_t>(interval.a), text_.size());
    return std::string(text_.substr(begin, static_cast<size_t>(interval.b - interval.a + 1)));
  }
  std::string toString() const override { return std::string(text_); }

 private:
  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace

Tokens tokenize(std::string_view text) {
  ByteStream stream(text);
  LoopLexer lexer(&stream);
  lexer.removeErrorListeners();
  Tokens tokens;
  tokens.reserve(text.size() / 4);
  while (true) {
    const auto read = lexer.nextToken();
    if (read->getType() == antlr4::Token::EOF) break;
    Token token;
    token.kind = static_cast<TokenKind>(read->getType());
    token.begin = static_cast<uint32_t>(read->getStartIndex());
    token.end = static_cast<uint32_t>(read->getStopIndex() + 1);
    const bool extends_run = token.kind == TokenKind::bad_character && !tokens.empty() &&
                             tokens.back().kind == TokenKind::bad_character &&
                             tokens.back().end == token.begin;
    if (extends_run) {
      tokens.back().end = token.end;
    } else {
      tokens.push_back(token);
    }
  }
  return tokens;
}

}  // namespace loop::syntax
