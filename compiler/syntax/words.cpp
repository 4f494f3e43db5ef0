#include "compiler/syntax/words.h"

#include <optional>

#include "compiler/syntax/literals.h"

namespace loop::syntax {
namespace {

using base::Span;
using diagnostics::Code;

std::string help_for(std::string_view character) {
  if (character == "!") return "write `not` for negation and `!=` for inequality";
  if (character == "%") return "a percentage is one word, as in `90%`; the remainder is `mod(a, b)`";
  if (character == "|" || character == "||") return "alternatives are joined by `or`";
  if (character == "&" || character == "&&") return "conditions are joined by `and`";
  if (character == "'") return "strings are written in double quotes";
  if (character == "\\")
    return "a line needs no mark to go on: break it inside brackets or after an operator";
  return "";
}

std::string shown(std::string_view characters) {
  constexpr size_t kLongest = 24;
  const auto first = static_cast<unsigned char>(characters.front());
  if (first < 0x20 || first == 0x7F) return "a control character";
  if (first == '`') return "a backquote";
  if (characters.size() > kLongest) return "this text";
  return "`" + std::string(characters) + "`";
}

class WordChecker {
 public:
  WordChecker(std::string_view text, base::FileId file, Findings& findings)
      : text_(text), file_(file), findings_(findings) {}

  void check(Token& token) {
    const std::string_view word = text_.substr(token.begin, token.end - token.begin);
    switch (token.kind) {
      case TokenKind::newline:
        reported_on_line_ = false;
        break;
      case TokenKind::string:
        check_escapes(token, word);
        break;
      case TokenKind::unclosed_string:
        report(token, {Code::L006, span(token), {}, "the line ends inside it", {}, {}});
        token.kind = TokenKind::string;
        break;
      case TokenKind::single_quoted:
        report(token, {Code::L008, span(token), {"a string in single quotes"}, "", {}, {help_for("'")}});
        token.kind = TokenKind::string;
        break;
      case TokenKind::number:
      case TokenKind::percent:
        check_range(token, word);
        break;
      case TokenKind::bad_number:
        report(token,
               {Code::L009, span(token), {std::string(word), "`_` stands between two digits"}, "", {}, {}});
        token.kind = TokenKind::number;
        break;
      case TokenKind::bad_character:
        check_character(token, word);
        break;
      default:
        break;
    }
  }

 private:
  Span span(const Token& token) const { return {file_, token.begin, token.end}; }

  void report(const Token& token, Finding finding) {
    findings_.mark(token.begin);
    if (reported_on_line_) return;
    reported_on_line_ = true;
    findings_.add(std::move(finding));
  }

  void check_escapes(const Token& token, std::string_view literal) {
    if (literal.find('\\') == std::string_view::npos) return;
    const std::optional<BadEscape> bad = text_value(literal).bad;
    if (!bad) return;
    const Span place{file_, token.begin + bad->begin, token.begin + bad->end};
    const std::string escape(literal.substr(bad->begin, bad->end - bad->begin));
    report(
        token,
        {Code::L007,
         place,
         {escape},
         "",
         {},
         {"the escapes are `\\n`, `\\t`, `\\r`, `\\\"`, `\\\\` and `\\u{…}`; a backslash itself is `\\\\`"}});
  }

  void check_range(const Token& token, std::string_view word) {
    const std::string_view digits = token.kind == TokenKind::percent ? word.substr(0, word.size() - 1) : word;
    if (number_value(digits)) return;
    report(token, {Code::L009,
                   span(token),
                   {std::string(word.substr(0, 40)), "it is outside the range of double precision"},
                   "",
                   {},
                   {}});
  }

  void check_character(const Token& token, std::string_view characters) {
    Finding finding{Code::L008, span(token), {shown(characters)}, "", {}, {}};
    const std::string help = help_for(characters);
    if (!help.empty()) finding.helps.push_back(help);
    report(token, std::move(finding));
  }

  std::string_view text_;
  base::FileId file_;
  Findings& findings_;
  bool reported_on_line_ = false;
};

}  // namespace

void check_words(std::string_view text, base::FileId file, Tokens& tokens, Findings& findings) {
  WordChecker checker(text, file, findings);
  for (Token& token : tokens) checker.check(token);
  std::erase_if(tokens, [](const Token& token) { return token.kind == TokenKind::bad_character; });
}

}  // namespace loop::syntax
