#include "compiler/syntax/brackets.h"

#include <algorithm>
#include <utility>

#include "compiler/base/limits.h"

namespace loop::syntax {
namespace {

using base::Span;
using diagnostics::Code;

constexpr size_t kMaxExtraLabels = 3;

/// What one pass over the tokens found out; nothing is changed until the better of two passes is chosen.
struct Pairing {
  std::vector<Finding> findings;
  std::vector<size_t> unmatched;           // tokens to flag
  std::vector<size_t> superfluous_braces;  // `}` to take out
  std::vector<size_t> inserted_braces;     // a `}` is missing before this token; in the tokens' order
  std::vector<uint32_t> marks;
  bool too_deep = false;
};

/// Where lines begin and how far they are indented, in bytes, for each token.
struct Lines {
  std::vector<uint32_t> line;    // of each token
  std::vector<uint32_t> indent;  // of each line
};

Lines measure(const Tokens& tokens) {
  Lines lines;
  lines.line.reserve(tokens.size());
  uint32_t line_begin = 0;
  bool fresh = true;
  for (const Token& token : tokens) {
    if (fresh) {
      lines.indent.push_back(token.begin - line_begin);
      fresh = false;
    }
    lines.line.push_back(static_cast<uint32_t>(lines.indent.size() - 1));
    if (token.kind == TokenKind::newline) {
      line_begin = token.end;
      fresh = true;
    }
  }
  return lines;
}

class Pairer {
 public:
  Pairer(std::string_view text, base::FileId file, const Tokens& tokens, const Lines& lines,
         bool trust_indentation)
      : text_(text), file_(file), tokens_(tokens), lines_(lines), trust_indentation_(trust_indentation) {}

  Pairing run() {
    for (size_t i = 0; i < tokens_.size() && !result_.too_deep; ++i) visit(i);
    if (!result_.too_deep) close_all();
    return std::move(result_);
  }

 private:
  void visit(size_t i) {
    const TokenKind kind = tokens_[i].kind;
    if (kind == TokenKind::newline || kind == TokenKind::comment) return;
    if (trust_indentation_ && first_on_line(i)) follow_indentation(i);
    if (kind == TokenKind::semicolon || kind == TokenKind::left_brace) drop_open_parens(i);
    if (is_opener(kind)) {
      open(i);
    } else if (kind == TokenKind::right_brace) {
      close_brace(i);
    } else if (kind == TokenKind::right_paren || kind == TokenKind::right_bracket) {
      close_paren(i);
    } else if (kind == TokenKind::unclosed_string) {
      close_inside_string(i);
    }
    after_last_ = i + 1;
  }

  bool first_on_line(size_t i) const { return i == 0 || lines_.line[i] != lines_.line[i - 1]; }
  uint32_t indent(size_t i) const { return lines_.indent[lines_.line[i]]; }
  Span span(size_t i) const { return {file_, tokens_[i].begin, tokens_[i].end}; }
  std::string spelled(size_t i) const {
    return std::string(text_.substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin));
  }
  bool top_is(TokenKind kind) const { return !open_.empty() && tokens_[open_.back()].kind == kind; }
  bool top_is_paren() const { return !open_.empty() && !top_is(TokenKind::left_brace); }

  void open(size_t i) {
    open_.push_back(i);
    if (open_.size() > base::kMaxNesting) {
      result_.too_deep = true;
      result_.findings.clear();
      result_.findings.push_back({Code::L010, span(i), {std::to_string(base::kMaxNesting)}, "", {}, {}});
    }
  }

  void report_unclosed(const std::vector<size_t>& openers, Span seen, const std::string& seen_text) {
    Finding finding{Code::L003, span(openers.front()), {spelled(openers.front())}, "opened here", {}, {}};
    for (size_t k = 1; k < openers.size() && k <= kMaxExtraLabels; ++k) {
      finding.labels.push_back({span(openers[k]), "nor is this one"});
    }
    if (seen) finding.labels.push_back({seen, seen_text});
    result_.findings.push_back(std::move(finding));
  }

  /// `(` and `[` cannot reach over `{`, `}`, `;` or the end: those on top of the stack are never closed.
  void drop_open_parens(size_t i) {
    if (!top_is_paren()) return;
    std::vector<size_t> openers;
    while (top_is_paren()) {
      openers.push_back(open_.back());
      result_.unmatched.push_back(open_.back());
      result_.marks.push_back(tokens_[open_.back()].begin);
      open_.pop_back();
    }
    const std::string wanted(partner(tokens_[openers.front()].kind));
    report_unclosed(openers, i < tokens_.size() ? span(i) : Span{}, "expected `" + wanted + "` before this");
  }

  void close_brace(size_t i) {
    drop_open_parens(i);
    if (!open_.empty()) {
      open_.pop_back();
      return;
    }
    report_superfluous(i);
    result_.superfluous_braces.push_back(i);
  }

  void report_superfluous(size_t i) {
    result_.findings.push_back(
        {Code::L004, span(i), {spelled(i), std::string(partner(tokens_[i].kind))}, "", {}, {}});
  }

  void close_paren(size_t i) {
    const TokenKind wanted_opener =
        tokens_[i].kind == TokenKind::right_paren ? TokenKind::left_paren : TokenKind::left_bracket;
    if (!top_is_paren()) {
      report_superfluous(i);
      result_.marks.push_back(tokens_[i].begin);
      return;
    }
    const size_t opener = open_.back();
    const bool interval = opener > 0 && tokens_[opener - 1].kind == TokenKind::in_word;
    if (top_is(wanted_opener) || interval) {
      open_.pop_back();
      return;
    }
    open_.pop_back();
    if (top_is(wanted_opener)) {  // `( [ )`: the inner one is what is missing its partner
      result_.unmatched.push_back(opener);
      result_.marks.push_back(tokens_[opener].begin);
      report_unclosed({opener}, span(i),
                      "expected `" + std::string(partner(tokens_[opener].kind)) + "` before this");
      open_.pop_back();
      return;
    }
    result_.findings.push_back({Code::L005,
                                span(i),
                                {spelled(i), spelled(opener), std::string(partner(tokens_[opener].kind))},
                                "",
                                {{span(opener), "opened here"}},
                                {}});
    result_.marks.push_back(tokens_[i].begin);
  }

  /// The rest of the line belongs to a string that was never closed (reported as L006), closers included:
  /// they count here.
  void close_inside_string(size_t i) {
    for (const char c : spelled(i)) {
      const bool brace = c == '}';
      if (!brace && c != ')' && c != ']') continue;
      if (open_.empty() || lines_.line[open_.back()] != lines_.line[i]) continue;
      if (partner(tokens_[open_.back()].kind)[0] != c) continue;
      if (brace) {
        result_.inserted_braces.push_back(i + 1);
      } else {
        result_.unmatched.push_back(open_.back());
      }
      open_.pop_back();
    }
  }

  /// A line that starts no further right than the line that opened a block is not inside that block.
  void follow_indentation(size_t i) {
    const bool closes = tokens_[i].kind == TokenKind::right_brace;
    while (top_is(TokenKind::left_brace)) {
      const size_t opener = open_.back();
      const bool missing =
          closes ? indent(i) < indent(opener) && some_opener_at(indent(i)) : indent(i) <= indent(opener);
      if (!missing || lines_.line[opener] == lines_.line[i]) return;
      open_.pop_back();
      result_.inserted_braces.push_back(after_last_);
      report_unclosed({opener}, span(i), "expected `}` before this line");
    }
  }

  bool some_opener_at(uint32_t column) const {
    return std::any_of(open_.begin(), open_.end(), [&](size_t opener) {
      return tokens_[opener].kind == TokenKind::left_brace && indent(opener) == column;
    });
  }

  void close_all() {
    std::vector<size_t> openers;
    while (!open_.empty()) {
      const size_t opener = open_.back();
      open_.pop_back();
      openers.push_back(opener);
      if (tokens_[opener].kind == TokenKind::left_brace) {
        result_.inserted_braces.push_back(after_last_);
      } else {
        result_.unmatched.push_back(opener);
        result_.marks.push_back(tokens_[opener].begin);
      }
    }
    if (openers.empty()) return;
    const auto end = static_cast<uint32_t>(text_.size());
    report_unclosed(openers, {file_, end, end}, "the file ends here");
  }

  std::string_view text_;
  base::FileId file_;
  const Tokens& tokens_;
  const Lines& lines_;
  bool trust_indentation_;
  std::vector<size_t> open_;
  size_t after_last_ = 0;  // behind the last token that is neither newline nor comment
  Pairing result_;
};

void apply_pairing(const Pairing& pairing, Tokens& tokens) {
  for (const size_t i : pairing.unmatched) tokens[i].unmatched = true;
  for (const size_t i : pairing.superfluous_braces) tokens[i].kind = TokenKind::semicolon;
  if (pairing.inserted_braces.empty()) return;
  Tokens with_braces;
  with_braces.reserve(tokens.size() + pairing.inserted_braces.size());
  auto next = pairing.inserted_braces.begin();
  for (size_t i = 0; i <= tokens.size(); ++i) {
    for (; next != pairing.inserted_braces.end() && *next == i; ++next) {
      const uint32_t place = with_braces.empty() ? 0 : with_braces.back().end;
      with_braces.push_back({TokenKind::right_brace, false, place, place});
    }
    if (i == tokens.size()) break;
    with_braces.push_back(tokens[i]);
  }
  tokens = std::move(with_braces);
}

}  // namespace

bool pair_brackets(std::string_view text, base::FileId file, Tokens& tokens, Findings& findings) {
  const Lines lines = measure(tokens);
  Pairing pairing = Pairer(text, file, tokens, lines, false).run();
  const bool braces_balance = pairing.superfluous_braces.empty() && pairing.inserted_braces.empty();
  if (!braces_balance && !pairing.too_deep) {
    Pairing by_indentation = Pairer(text, file, tokens, lines, true).run();
    const bool explains_more = by_indentation.findings.size() <= pairing.findings.size();
    if (explains_more && !by_indentation.too_deep) pairing = std::move(by_indentation);
  }
  for (Finding& finding : pairing.findings) findings.add(std::move(finding));
  for (const uint32_t mark : pairing.marks) findings.mark(mark);
  if (pairing.too_deep) return false;
  apply_pairing(pairing, tokens);
  return true;
}

}  // namespace loop::syntax
