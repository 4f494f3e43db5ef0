#include "compiler/fixes/layout.h"

#include <algorithm>

#include "compiler/syntax/format.h"
#include "compiler/syntax/parser.h"

namespace loop::fixes {

std::optional<std::string> apply_edits(std::string_view text, std::vector<Edit> edits) {
  std::stable_sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) {
    return std::pair(a.span.begin, a.span.end) < std::pair(b.span.begin, b.span.end);
  });
  std::string result;
  uint32_t done = 0;
  for (Edit& edit : edits) {
    // Two neighbours that are deleted may both take the `;` between them.
    if (edit.text.empty() && edit.span.begin < done) edit.span.begin = std::min(done, edit.span.end);
    if (edit.span.begin < done && edit.span.end <= done && edit.text.empty()) continue;
    if (edit.span.begin < done || edit.span.end < edit.span.begin || edit.span.end > text.size())
      return std::nullopt;
    result.append(text.substr(done, edit.span.begin - done));
    result.append(edit.text);
    done = edit.span.end;
  }
  result.append(text.substr(done));
  return result;
}

std::optional<std::string> canonical_layout(const std::string& text) {
  base::SourceManager sources;
  diagnostics::Engine engine;
  const base::FileId id = sources.add("", text);
  const syntax::ParseResult parsed = syntax::parse(sources, id, engine);
  if (parsed.had_errors) return std::nullopt;
  return syntax::format(sources, parsed.file);
}

Edit difference(std::string_view before, std::string_view after, base::FileId file) {
  const auto inside_character = [](std::string_view text, size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  const size_t most = std::min(before.size(), after.size());
  size_t front = 0;
  while (front < most && before[front] == after[front]) ++front;
  while (front > 0 && (inside_character(before, front) || inside_character(after, front))) --front;
  size_t back = 0;
  while (back < most - front && before[before.size() - 1 - back] == after[after.size() - 1 - back]) ++back;
  while (back > 0 && inside_character(before, before.size() - back)) --back;
  return {{file, static_cast<uint32_t>(front), static_cast<uint32_t>(before.size() - back)},
          std::string(after.substr(front, after.size() - back - front))};
}

}  // namespace loop::fixes
