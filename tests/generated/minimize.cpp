#include "tests/generated/minimize.h"

#include <algorithm>
#include <vector>

namespace loop::generated {
namespace {

using Pieces = std::vector<std::string>;

std::string joined(const Pieces& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

Pieces lines_of(const std::string& text) {
  Pieces lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  return lines;
}

Pieces characters_of(const std::string& text) {
  Pieces characters;
  for (const char c : text) characters.emplace_back(1, c);
  return characters;
}

/// Leaves out runs of pieces, long ones first, as long as that helps.
Pieces reduce(Pieces pieces, const std::function<bool(const std::string&)>& fails, int& tries) {
  for (size_t run = std::max<size_t>(pieces.size() / 2, 1); run > 0;) {
    bool smaller = false;
    for (size_t at = 0; at < pieces.size() && tries > 0;) {
      Pieces without = pieces;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(at),
                    without.begin() + static_cast<std::ptrdiff_t>(std::min(at + run, pieces.size())));
      --tries;
      if (fails(joined(without))) {
        pieces = std::move(without);
        smaller = true;
      } else {
        at += run;
      }
    }
    if (tries <= 0) break;
    if (!smaller || run > 1) run = smaller ? std::max<size_t>(run / 2, 1) : run / 2;
  }
  return pieces;
}

}  // namespace

std::string minimize(std::string text, const std::function<bool(const std::string&)>& fails, int tries) {
  text = joined(reduce(lines_of(text), fails, tries));
  return joined(reduce(characters_of(text), fails, tries));
}

}  // namespace loop::generated
