#include "compiler/syntax/format.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/syntax/format_lines.h"
#include "compiler/syntax/lexer.h"
#include "compiler/syntax/spacing.h"
#include "compiler/syntax/statements.h"
#include "compiler/syntax/token.h"

namespace loop::syntax {
namespace {

constexpr size_t kIndent = 2;

bool is_gap(TokenKind kind) {
  return kind == TokenKind::newline || kind == TokenKind::comment;
}

/// Walks the tokens rather than the tree: whatever the text holds, comments and breaks included, is then
/// carried over by construction, and only blanks change.
class Formatter {
 public:
  explicit Formatter(std::string_view text) : text_(text), tokens_(tokenize(text)) {
    for (const Token& token : separate_statements(tokens_)) {
      if (token.kind == TokenKind::separator) separators_.insert(token.begin);
    }
    shape_blocks();
  }

  std::string run() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      switch (tokens_[i].kind) {
        case TokenKind::bad_character:  // a byte-order mark: nothing else of this kind is in a text without
                                        // errors
          break;
        case TokenKind::newline:
          ++newlines_;
          if (separators_.contains(tokens_[i].begin)) {
            statement_ended_ = true;
          } else {
            broken_ = true;
          }
          break;
        case TokenKind::semicolon:
          statement_ended_ = true;
          break;
        case TokenKind::comment:
          comment(i);
          break;
        default:
          word(i);
      }
    }
    statement_ended_ = true;
    flush();
    align_assignments(lines_);
    return render_lines(lines_);
  }

 private:
  struct Open {
    TokenKind kind;
    size_t indent;  // of the line it stands on; a block's: of its statement
    size_t inside;  // where lines inside begin
    bool one_line;
  };

  /// `{ … }` without newline stays on one line; without statements it is `{}`; a comment inside needs lines.
  void shape_blocks() {
    one_line_.resize(tokens_.size());
    struct Inside {
      size_t opener;
      bool newline = false;
      bool comment = false;
      bool statement = false;
    };
    std::vector<Inside> open;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const TokenKind kind = tokens_[i].kind;
      if (kind == TokenKind::right_brace && !open.empty()) {
        const Inside inside = open.back();
        open.pop_back();
        one_line_[inside.opener] = !inside.comment && !(inside.newline && inside.statement);
        if (!open.empty()) {
          open.back().newline |= inside.newline;
          open.back().comment |= inside.comment;
        }
        continue;
      }
      if (!open.empty()) {
        open.back().newline |= kind == TokenKind::newline;
        open.back().comment |= kind == TokenKind::comment;
        open.back().statement |= !is_gap(kind) && kind != TokenKind::semicolon;
      }
      if (kind == TokenKind::left_brace) open.push_back({i});
    }
  }

  // ---- where lines begin
  // -----------------------------------------------------------------------------------------------
  size_t block_indent() const {
    for (auto open = open_.rbegin(); open != open_.rend(); ++open) {
      if (open->kind == TokenKind::left_brace) return open->inside;
    }
    return 0;
  }

  size_t continuation_indent(TokenKind first) const {
    const bool in_brackets = !open_.empty() && open_.back().kind != TokenKind::left_brace;
    if (!in_brackets) return block_indent() + (first == TokenKind::left_brace ? 0 : kIndent);
    const bool closes = first == TokenKind::right_paren || first == TokenKind::right_bracket;
    return closes ? open_.back().indent : open_.back().inside;
  }

  bool in_one_line_block() const {
    return std::any_of(open_.rbegin(), open_.rend(), [](const Open& open) { return open.one_line; });
  }

  bool between_statements() const { return statement_ended_ || before_.kind == TokenKind::separator; }

  void flush() {
    if (line_open_) {
      line_.whole_statement = line_starts_statement_ && statement_ended_ && !block_opens_;
      lines_.push_back(std::move(line_));
    }
    line_ = {};
    line_open_ = false;
  }

  void begin_line(size_t indent, bool statement) {
    flush();
    line_.indent = indent;
    line_.blank_before = statement && newlines_ > 1 && !block_opens_;
    line_open_ = true;
    line_starts_statement_ = statement;
  }

  /// Starts the next line if one is due before the token.
  void break_before(size_t i) {
    const TokenKind kind = tokens_[i].kind;
    if (kind == TokenKind::right_brace && !open_.empty() && !open_.back().one_line) {
      statement_ended_ = true;
      begin_line(open_.back().indent, false);
      before_ = {};
    } else if (between_statements()) {
      if (in_one_line_block()) {
        continue_in_line(kind);
      } else {
        begin_line(block_indent(), true);
      }
      before_ = kind == TokenKind::right_brace ? PlacedToken{TokenKind::left_brace} : PlacedToken{};
    } else if (broken_ && (kind != TokenKind::left_brace || comment_since_word_)) {
      begin_line(continuation_indent(kind), false);
    }
  }

  /// The next statement of a block on one line.
  void continue_in_line(TokenKind kind) {
    const bool first = block_opens_;
    if (kind == TokenKind::right_brace) {
      if (!first) line_.text += ' ';
      return;
    }
    line_.text += first ? " " : "; ";
  }

  // ---- tokens
  // ----------------------------------------------------------------------------------------------------------
  std::string_view spelled(const Token& token) const {
    return text_.substr(token.begin, token.end - token.begin);
  }

  TokenKind after(size_t i) const {
    for (++i; i < tokens_.size(); ++i) {
      if (!is_gap(tokens_[i].kind)) return tokens_[i].kind;
    }
    return TokenKind::end_of_file;
  }

  void word(size_t i) {
    const Token& token = tokens_[i];
    break_before(i);
    const PlacedToken placed{token.kind, role_of(token.kind, before_, after(i))};
    const bool fresh = before_.kind == TokenKind::separator || line_.text.empty();
    if (!fresh && blank_between(before_, placed)) line_.text += ' ';
    note_operator(token);
    line_.text += spelled(token);
    track(i);
    before_ = placed;
    if (token.kind == TokenKind::left_brace) before_ = {};
    block_opens_ = token.kind == TokenKind::left_brace;
    newlines_ = 0;
    broken_ = false;
    statement_ended_ = false;
    comment_since_word_ = false;
  }

  /// `name =`, `word name =` at the start of a line's statement can be aligned.
  void note_operator(const Token& token) {
    if (before_.kind == TokenKind::separator) words_only_ = true;
    const bool sets = token.kind == TokenKind::assign || token.kind == TokenKind::left_arrow;
    if (sets && words_only_ && line_starts_statement_ && !in_one_line_block()) {
      line_.operator_at = line_.text.size();
      line_.operator_length = token.end - token.begin;
    }
    words_only_ = words_only_ && is_word(token.kind);
  }

  void track(size_t i) {
    const TokenKind kind = tokens_[i].kind;
    if (kind == TokenKind::left_brace) {
      const size_t indent = block_indent();
      open_.push_back({kind, indent, indent + kIndent, one_line_[i]});
    } else if (is_opener(kind)) {
      // What follows on the same line gives its column to the lines after it.
      const bool follows = i + 1 < tokens_.size() && !is_gap(tokens_[i + 1].kind);
      const size_t column = line_.indent + characters(line_.text);
      open_.push_back({kind, line_.indent, follows ? column : line_.indent + kIndent, false});
    } else if (is_closer(kind) && !open_.empty()) {
      open_.pop_back();
    }
  }

  void comment(size_t i) {
    std::string_view text = spelled(tokens_[i]);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    const bool own_line = i == 0 || tokens_[i - 1].kind == TokenKind::newline || !line_open_;
    if (own_line) {
      const bool between = between_statements();
      begin_line(between ? block_indent() : continuation_indent(TokenKind::comment), true);
      line_starts_statement_ = false;
      if (!between) line_.blank_before = false;
      line_.comment = text;
      flush();
      block_opens_ = false;
    } else {
      line_.comment = text;
      line_.comment_column = column(tokens_[i].begin);
    }
    comment_since_word_ = true;
    newlines_ = 0;
  }

  /// Characters between the line's start and a byte.
  size_t column(uint32_t at) const {
    size_t count = 0;
    while (at > 0 && text_[at - 1] != '\n' && text_[at - 1] != '\r') {
      --at;
      if ((static_cast<unsigned char>(text_[at]) & 0xC0U) != 0x80U) ++count;
    }
    return count;
  }

  std::string_view text_;
  Tokens tokens_;
  std::unordered_set<uint32_t> separators_;  // places of the newlines and `;` that end statements
  std::vector<bool> one_line_;               // whether the block that token i opens stays on one line
  std::vector<Line> lines_;
  std::vector<Open> open_;
  Line line_;
  bool line_open_ = false;
  bool line_starts_statement_ = false;
  bool words_only_ = false;  // the statement has only words so far
  PlacedToken before_;       // the token before in the same statement
  size_t newlines_ = 0;      // since the last token or comment
  bool broken_ = false;      // a newline that ends no statement came since the last token
  bool statement_ended_ = false;
  bool block_opens_ = true;  // nothing of the block (or file) was written yet
  bool comment_since_word_ = false;
};

}  // namespace

std::string format(const base::SourceManager& sources, const ast::File& file) {
  return Formatter(sources.file(file.id).text()).run();
}

}  // namespace loop::syntax
