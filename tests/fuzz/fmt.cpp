#include "compiler/syntax/format.h"

#include "compiler/ast/printer.h"
#include "compiler/syntax/parser.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/targets.h"

namespace loop::fuzz {
namespace {

std::string_view without_blanks_behind(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

void fmt(std::string_view bytes) {
  Input input;
  const base::FileId file = input.sources.add("spec.loop", std::string(bytes));
  const syntax::ParseResult before = syntax::parse(input.sources, file, input.engine);
  if (before.had_errors) return;
  const std::string formatted = syntax::format(input.sources, before.file);

  const base::FileId formatted_file = input.sources.add("formatted.loop", formatted);
  const syntax::ParseResult after = syntax::parse(input.sources, formatted_file, input.engine);
  // A text just below the limit of a file may be longer with its blanks.
  require(!after.had_errors, "a formatted text parses", formatted);
  require(ast::to_string(after.file) == ast::to_string(before.file), "formatting keeps the tree", formatted);
  require(after.file.comments.size() == before.file.comments.size(), "formatting keeps all comments",
          formatted);
  for (size_t i = 0; i < after.file.comments.size(); ++i) {
    require(after.file.comments[i].text == without_blanks_behind(before.file.comments[i].text),
            "formatting keeps the comments' texts", formatted);
  }
  require(syntax::format(input.sources, after.file) == formatted, "formatting twice is formatting once",
          formatted);
}

}  // namespace loop::fuzz
