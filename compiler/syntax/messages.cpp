#include "compiler/syntax/messages.h"

#include "compiler/base/text.h"

namespace loop::syntax {
namespace {

using base::Span;
using diagnostics::Code;

constexpr size_t kLongestQuote = 40;

class Place {
 public:
  Place(const ParsedText& parsed, size_t at) : parsed_(parsed), at_(at) {}

  TokenKind kind() const {
    return at_ < parsed_.tokens.size() ? parsed_.tokens[at_].kind : TokenKind::end_of_file;
  }
  TokenKind kind_before() const { return at_ == 0 ? TokenKind::separator : parsed_.tokens[at_ - 1].kind; }
  bool ends_statement() const {
    return kind() == TokenKind::separator || kind() == TokenKind::right_brace ||
           kind() == TokenKind::end_of_file;
  }

  std::string quoted(size_t index) const {
    const Token& token = parsed_.tokens[index];
    std::string word(parsed_.text.substr(token.begin, token.end - token.begin));
    if (word.size() > kLongestQuote) return token.kind == TokenKind::string ? "a string" : "this text";
    return "`" + word + "`";
  }
  std::string before() const { return quoted(at_ - 1); }

  std::string found() const {
    if (kind() == TokenKind::end_of_file) return "the end of the file";
    const Token& token = parsed_.tokens[at_];
    if (kind() == TokenKind::separator && parsed_.text[token.begin] != ';') return "the end of the line";
    if (token.begin == token.end) return "the end of the block";
    return quoted(at_);
  }

  /// The unexpected token; when a line, block or file ends too early, the last token before that.
  Span span() const {
    const bool after = at_ > 0 && ends_statement();
    if (at_ == parsed_.tokens.size() && !after) {
      const auto end = static_cast<uint32_t>(parsed_.text.size());
      return {parsed_.file, end, end};
    }
    const Token& token = parsed_.tokens[after ? at_ - 1 : at_];
    return {parsed_.file, token.begin, token.end};
  }

 private:
  const ParsedText& parsed_;
  size_t at_;
};

/// The accepted marks a person would think of; operators and clauses, which could follow almost anywhere, are
/// left out.
std::string in_words(const std::set<TokenKind>& accepted) {
  std::vector<std::string> words;
  if (accepted.contains(TokenKind::name)) words.emplace_back("a name");
  const std::pair<TokenKind, const char*> marks[] = {
      {TokenKind::assign, "`=`"},     {TokenKind::left_paren, "`(`"},   {TokenKind::left_bracket, "`[`"},
      {TokenKind::left_brace, "`{`"}, {TokenKind::then_word, "`then`"}, {TokenKind::else_word, "`else`"},
      {TokenKind::comma, "`,`"},      {TokenKind::right_paren, "`)`"},  {TokenKind::right_bracket, "`]`"},
  };
  for (const auto& [kind, word] : marks) {
    if (accepted.contains(kind)) words.emplace_back(word);
  }
  const bool may_end = accepted.contains(TokenKind::separator) || accepted.contains(TokenKind::end_of_file);
  if (may_end || words.empty()) words.emplace_back("the end of the statement");
  return base::enumerate(words);
}

constexpr const char* kArrowHelp =
    "`<-` gives a state its next value; to compare with a negative number write `< -`";

void add_value_helps(const Place& place, Finding& finding) {
  const TokenKind before = place.kind_before();
  const TokenKind found = place.kind();
  if (found == TokenKind::if_word) finding.helps.emplace_back("put `if … then … else …` in parentheses");
  if (before == TokenKind::slash && (found == TokenKind::slash || found == TokenKind::star)) {
    finding.helps.emplace_back("comments start with `#`");
  }
  if (before == TokenKind::assign && found == TokenKind::assign)
    finding.helps.emplace_back("`==` has no blank inside");
  if (before == TokenKind::assign && found == TokenKind::left_brace) {
    finding.helps.emplace_back("a block follows its name directly, without `=`");
  }
  if (before == TokenKind::star && found == TokenKind::star)
    finding.helps.emplace_back("powers are written with `^`");
}

}  // namespace

Finding unexpected_in_statement(const ParsedText& parsed, size_t at, Part part,
                                const std::set<TokenKind>& accepted) {
  const Place place(parsed, at);
  const bool in_brackets = part == Part::args || part == Part::list;
  const bool nothing_yet = is_opener(place.kind_before()) || place.kind_before() == TokenKind::comma;
  const bool wants_value = accepted.contains(TokenKind::string) || (in_brackets && nothing_yet);
  if (wants_value && at > 0 && place.kind_before() != TokenKind::separator) {
    Finding finding{Code::L002, place.span(), {place.before(), place.found()}, "", {}, {}};
    add_value_helps(place, finding);
    return finding;
  }
  std::string wanted = wants_value ? "a value" : in_words(accepted);
  if (part == Part::args) wanted = is_word(place.kind_before()) ? "`:`, `,` or `)`" : "`,` or `)`";
  if (part == Part::list) wanted = "`,` or `]`";
  if (part == Part::use) wanted = "a module's name";
  if (part == Part::per) wanted = "a unit or a number";
  if (at > 0 && place.ends_statement()) wanted += " after " + place.before();
  Finding finding{Code::L001, place.span(), {wanted, place.found()}, "", {}, {}};
  if (place.kind() == TokenKind::left_arrow) finding.helps.emplace_back(kArrowHelp);
  return finding;
}

Finding unexpected_after_statement(const ParsedText& parsed, size_t at, StatementForm before) {
  const Place place(parsed, at);
  Finding finding{Code::L001, place.span(), {"a statement", place.found()}, "", {}, {}};
  const TokenKind found = place.kind();
  if (before == StatementForm::none) {
    if (found == TokenKind::slash) finding.helps.emplace_back("comments start with `#`");
    return finding;
  }
  std::string& wanted = finding.args[0];
  wanted = "a new line or `;` after " + place.before();
  if (before == StatementForm::bare) wanted = "`=`, `(` or `{` after " + place.before();
  if (before == StatementForm::bare && found == TokenKind::colon) {
    wanted = "`=` after " + place.before();
    finding.helps.emplace_back("`:` names an argument inside parentheses; a key is set with `=`");
  }
  if (before == StatementForm::assigned && found == TokenKind::assign)
    finding.helps.emplace_back("`==` compares");
  if (before == StatementForm::assigned && found == TokenKind::left_arrow) {
    finding.helps.emplace_back(kArrowHelp);
  }
  if (place.kind_before() == TokenKind::right_paren && found == TokenKind::name) {
    finding.helps.emplace_back("a unit stands directly after a number, as in `4 micro_batches`");
  }
  return finding;
}

}  // namespace loop::syntax
