#include "compiler/fixes/rewrite.h"

#include <algorithm>

namespace loop::fixes {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

constexpr const char* kStep = "  ";

}  // namespace

void Rewrite::edit(size_t begin, size_t end, std::string text) {
  edits_.push_back({{file_.id, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}, std::move(text)});
}

void Rewrite::replace(base::Span span, std::string text) {
  edit(span.begin, span.end, std::move(text));
}

std::string Rewrite::source(base::Span span) const {
  return std::string(text_.substr(span.begin, span.end - span.begin));
}

size_t Rewrite::line_begin(size_t at) const {
  const size_t newline = at == 0 ? std::string_view::npos : text_.rfind('\n', at - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}

size_t Rewrite::line_end(size_t at) const {
  const size_t newline = text_.find('\n', at);
  return newline == std::string_view::npos ? text_.size() : newline;
}

std::string Rewrite::indent(const ast::Item& item) const {
  const size_t begin = line_begin(item.span.begin);
  size_t end = begin;
  while (end < text_.size() && (text_[end] == ' ' || text_[end] == '\t')) ++end;
  return std::string(text_.substr(begin, end - begin));
}

bool Rewrite::begins_line(const ast::Item& item) const {
  const size_t begin = line_begin(item.span.begin);
  return std::all_of(text_.begin() + static_cast<std::ptrdiff_t>(begin),
                     text_.begin() + static_cast<std::ptrdiff_t>(item.span.begin), is_blank);
}

bool Rewrite::on_own_lines(const ast::Item& item) const {
  if (!begins_line(item)) return false;
  size_t at = item.span.end;
  while (at < text_.size() && is_blank(text_[at])) ++at;
  if (at < text_.size() && text_[at] == ';') ++at;
  while (at < text_.size() && is_blank(text_[at])) ++at;
  return at == text_.size() || text_[at] == '\n' || text_[at] == '#';
}

const ast::Comment* Rewrite::comment_behind(const ast::Item& item) const {
  const size_t end = line_end(item.span.end);
  for (const ast::Comment& comment : file_.comments) {
    if (comment.span.begin >= item.span.end && comment.span.begin < end) return &comment;
  }
  return nullptr;
}

size_t Rewrite::attached_begin(const ast::Item& item) const {
  const size_t own = line_begin(item.span.begin);
  size_t begin = own;
  while (begin > 0) {
    const size_t above = line_begin(begin - 1);
    size_t at = above;
    while (at < begin && is_blank(text_[at])) ++at;
    if (at >= begin || text_[at] != '#') break;
    begin = above;
  }
  // A comment at the start of a block may be about all of it.
  size_t at = begin;
  while (at > 0 && (is_blank(text_[at - 1]) || text_[at - 1] == '\n')) --at;
  return at > 0 && text_[at - 1] == '{' ? own : begin;
}

std::string Rewrite::lines_of(const ast::Item& item, const std::string& indent) const {
  const size_t begin = attached_begin(item);
  std::string lines(text_.substr(begin, line_end(item.span.end) - begin));
  const std::string old = this->indent(item);
  std::string moved;
  for (size_t at = 0; at <= lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    std::string line = lines.substr(at, end - at);
    if (line.compare(0, old.size(), old) == 0) line.erase(0, old.size());
    moved += (line.empty() ? "" : indent) + line + "\n";
    at = end + 1;
  }
  return moved;
}

void Rewrite::remove(const ast::Item& item) {
  std::vector<std::string> comments;
  const ast::Comment* behind = comment_behind(item);
  for (const ast::Comment& comment : file_.comments) {
    const bool inside = comment.span.begin > item.span.begin && comment.span.begin < item.span.end;
    if (inside || (&comment == behind && on_own_lines(item))) comments.push_back(comment.text);
  }
  std::string kept;
  if (on_own_lines(item)) {
    for (const std::string& comment : comments) kept += indent(item) + comment + "\n";
    edit(line_begin(item.span.begin), std::min(line_end(item.span.end) + 1, text_.size()), kept);
    return;
  }
  for (const std::string& comment : comments) kept += comment + "\n";
  size_t begin = item.span.begin;
  size_t end = item.span.end;
  size_t after = end;
  while (after < text_.size() && is_blank(text_[after])) ++after;
  if (after < text_.size() && text_[after] == ';') {
    end = after + 1;
    while (end < text_.size() && is_blank(text_[end])) ++end;
  } else {
    size_t before = begin;
    while (before > 0 && is_blank(text_[before - 1])) --before;
    if (before > 0 && text_[before - 1] == ';') begin = before - 1;
  }
  edit(begin, end, kept);
}

void Rewrite::insert_before(const ast::Item& target, const std::string& statement) {
  if (on_own_lines(target)) {
    const size_t at = attached_begin(target);
    edit(at, at, indent(target) + statement + "\n");
  } else {
    edit(target.span.begin, target.span.begin, statement + "; ");
  }
}

void Rewrite::insert_after(const ast::Item& target, const std::string& statement) {
  if (on_own_lines(target)) {
    const size_t end = line_end(target.span.end);
    if (end < text_.size()) return edit(end + 1, end + 1, indent(target) + statement + "\n");
    return edit(end, end, "\n" + indent(target) + statement);
  }
  edit(target.span.end, target.span.end, "; " + statement);
}

void Rewrite::prepend(const ast::Block& block, const std::string& statement) {
  if (block.items.empty()) return replace(block.span, "{ " + statement + " }");
  insert_before(*block.items.front(), statement);
}

void Rewrite::append(const ast::Block& block, const std::string& statement) {
  if (block.items.empty()) return replace(block.span, "{ " + statement + " }");
  insert_after(*block.items.back(), statement);
}

void Rewrite::move(const ast::Item& item, const ast::Item& target, bool before) {
  if (on_own_lines(item) && on_own_lines(target)) {
    const size_t at = before ? attached_begin(target) : std::min(line_end(target.span.end) + 1, text_.size());
    edit(attached_begin(item), std::min(line_end(item.span.end) + 1, text_.size()), "");
    edit(at, at, lines_of(item, indent(target)));
    return;
  }
  const std::string statement = source(item.span);
  remove(item);
  if (before) {
    insert_before(target, statement);
  } else {
    insert_after(target, statement);
  }
}

void Rewrite::move_before(const ast::Item& item, const ast::Item& target) {
  move(item, target, true);
}

void Rewrite::move_after(const ast::Item& item, const ast::Item& target) {
  move(item, target, false);
}

void Rewrite::move_to_end(const ast::Item& item, const ast::Block& block) {
  if (!block.items.empty() && block.items.back().get() != &item) return move_after(item, *block.items.back());
  if (!block.items.empty()) return;
  const std::string statement = source(item.span);
  remove(item);
  append(block, statement);
}

void Rewrite::unwrap(const ast::Item& scope, const ast::Block& body) {
  if (body.items.empty()) return remove(scope);
  const ast::Item& first = *body.items.front();
  const ast::Item& last = *body.items.back();
  if (begins_line(scope) && begins_line(first)) {
    // What stands before the first statement is comments; so is what follows the last one.
    size_t begin = line_end(body.span.begin) + 1;
    const size_t end = line_begin(body.span.end - 1);
    if (comment_behind(scope) && comment_behind(scope)->span.begin < begin) begin = body.span.begin + 1;
    const std::string outer = indent(scope);
    const std::string inner = indent(first);
    const size_t deeper = inner.size() > outer.size() ? inner.size() - outer.size() : 0;
    std::string lines(text_.substr(begin, end - begin));
    std::string moved;
    for (size_t at = 0; at < lines.size();) {
      const size_t newline = std::min(lines.find('\n', at), lines.size() - 1);
      std::string line = lines.substr(at, newline + 1 - at);
      const size_t blanks = line.find_first_not_of(' ');
      line.erase(0, std::min(deeper, blanks == std::string::npos ? 0 : blanks));
      moved += line;
      at = newline + 1;
    }
    const size_t behind = std::min(line_end(scope.span.end) + 1, text_.size());
    const bool alone = on_own_lines(scope);
    const ast::Comment* comment = alone ? comment_behind(scope) : nullptr;
    if (comment) moved += outer + comment->text + "\n";
    edit(line_begin(scope.span.begin), alone ? behind : scope.span.end, moved);
    return;
  }
  edit(scope.span.begin, first.span.begin, "");
  edit(last.span.end, scope.span.end, "");
}

void Rewrite::deepen(const ast::Item& first, const ast::Item& last) {
  const size_t end = line_end(last.span.end);
  for (size_t at = attached_begin(first); at < end; at = line_end(at) + 1) {
    if (text_[at] != '\n') edit(at, at, kStep);
  }
}

void Rewrite::wrap(const ast::Item& first, const ast::Item& last, const std::string& head) {
  if (!on_own_lines(first) || !on_own_lines(last)) {
    edit(first.span.begin, first.span.begin, head + " { ");
    edit(last.span.end, last.span.end, " }");
    return;
  }
  const size_t begin = attached_begin(first);
  const size_t end = std::min(line_end(last.span.end) + 1, text_.size());
  edit(begin, begin, indent(first) + head + " {\n");
  deepen(first, last);
  edit(end, end, indent(first) + "}\n");
}

}  // namespace loop::fixes
