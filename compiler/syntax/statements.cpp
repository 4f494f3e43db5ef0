#include "compiler/syntax/statements.h"

namespace loop::syntax {
namespace {

bool goes_on_after(TokenKind kind) {
  switch (kind) {
    case TokenKind::assign:
    case TokenKind::left_arrow:
    case TokenKind::comma:
    case TokenKind::colon:
    case TokenKind::dot:
    case TokenKind::if_word:
    case TokenKind::then_word:
    case TokenKind::else_word:
    case TokenKind::not_word:
      return true;
    default:
      return is_binary_operator(kind);
  }
}

bool goes_on_before(TokenKind kind) {
  return kind == TokenKind::else_word || kind == TokenKind::then_word || kind == TokenKind::left_brace ||
         is_binary_operator(kind);
}

bool is_gap(TokenKind kind) {
  return kind == TokenKind::newline || kind == TokenKind::comment;
}

class StatementFilter {
 public:
  explicit StatementFilter(const Tokens& tokens) : tokens_(tokens) { out_.reserve(tokens.size()); }

  Tokens run() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const Token& token = tokens_[i];
      if (token.kind == TokenKind::comment) continue;
      if (token.kind == TokenKind::newline) {
        newline(i);
        while (i + 1 < tokens_.size() && is_gap(tokens_[i + 1].kind)) ++i;  // decided once for the whole gap
      } else if (token.kind == TokenKind::semicolon) {
        separate(token);
      } else {
        track(token);
        out_.push_back(token);
      }
    }
    return std::move(out_);
  }

 private:
  /// The kind of the n-th token from `i` on that is neither newline nor comment.
  TokenKind upcoming(size_t i, size_t n) const {
    for (; i < tokens_.size(); ++i) {
      if (is_gap(tokens_[i].kind)) continue;
      if (n-- == 0) return tokens_[i].kind;
    }
    return TokenKind::end_of_file;
  }

  /// Whether the line after the gap at `i` begins like a statement. After `=` a block's head counts too;
  /// after an operator that may be the rest of a condition.
  bool statement_starts(size_t i, TokenKind before) const {
    while (i < tokens_.size() && is_gap(tokens_[i].kind)) ++i;
    const auto on_line = [&](size_t n) {
      return i + n < tokens_.size() ? tokens_[i + n].kind : TokenKind::end_of_file;
    };
    if (!is_word(on_line(0))) return false;
    if (on_line(1) == TokenKind::assign || on_line(1) == TokenKind::left_arrow) return true;
    if (before != TokenKind::assign && before != TokenKind::left_arrow) return false;
    return on_line(1) == TokenKind::left_brace ||
           (is_word(on_line(1)) && on_line(2) == TokenKind::left_brace);
  }

  void newline(size_t i) {
    if (out_.empty()) return;
    const TokenKind before = out_.back().kind;
    if (!brackets_.empty() && brackets_.back().kind != TokenKind::left_brace) {
      // An unmatched bracket ends with the first line that does not visibly go on.
      const bool visibly_open = goes_on_after(before) || is_opener(before);
      if (!brackets_.back().unmatched || visibly_open) return;
      while (!brackets_.empty() && brackets_.back().unmatched) brackets_.pop_back();
      if (!brackets_.empty() && brackets_.back().kind != TokenKind::left_brace) return;
    }
    const bool foreign_comment = upcoming(i, 0) == TokenKind::slash && upcoming(i, 1) == TokenKind::slash;
    if (goes_on_before(upcoming(i, 0)) && !foreign_comment) return;
    if (goes_on_after(before) && !statement_starts(i, before)) return;
    separate(tokens_[i]);
  }

  void separate(const Token& token) {
    while (!brackets_.empty() && brackets_.back().unmatched) brackets_.pop_back();
    if (out_.empty() || out_.back().kind == TokenKind::separator) return;
    out_.push_back({TokenKind::separator, false, token.begin, token.end});
  }

  void track(const Token& token) {
    if (is_opener(token.kind)) {
      brackets_.push_back(token);
    } else if (is_closer(token.kind)) {
      while (!brackets_.empty() && brackets_.back().unmatched) brackets_.pop_back();
      // A superfluous `)` is still here for the parser to see; it closes no block.
      const bool closes = !brackets_.empty() && (token.kind == TokenKind::right_brace) ==
                                                    (brackets_.back().kind == TokenKind::left_brace);
      if (closes) brackets_.pop_back();
    }
  }

  const Tokens& tokens_;
  Tokens brackets_;  // open ones
  Tokens out_;
};

}  // namespace

Tokens separate_statements(const Tokens& tokens) {
  return StatementFilter(tokens).run();
}

size_t first_too_deep(const Tokens& tokens, size_t limit) {
  struct Level {
    size_t ifs = 0;
    size_t prefixes = 0;
  };
  std::vector<Level> levels(1);
  size_t depth = 0;
  TokenKind before = TokenKind::separator;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const TokenKind kind = tokens[i].kind;
    if (is_opener(kind)) {
      if (!tokens[i].unmatched) {
        levels.emplace_back();
        ++depth;
      }
    } else if (is_closer(kind) && levels.size() > 1) {
      depth -= 1 + levels.back().ifs + levels.back().prefixes;
      levels.pop_back();
    }
    Level& level = levels.back();
    if (kind == TokenKind::separator || kind == TokenKind::comma) {
      depth -= level.ifs + level.prefixes;
      level = {};
    } else if (kind == TokenKind::if_word) {
      ++level.ifs;
      ++depth;
    } else if (kind == TokenKind::not_word || (kind == TokenKind::minus && !ends_value(before))) {
      ++level.prefixes;
      ++depth;
    } else if (ends_value(kind)) {
      depth -= level.prefixes;
      level.prefixes = 0;
    }
    if (depth > limit) return i;
    before = kind;
  }
  return tokens.size();
}

}  // namespace loop::syntax
