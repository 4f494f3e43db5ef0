// Edits in terms of statements: delete, move, insert, enclose. Comments stay: one behind a statement, or
// directly above it, goes where the statement goes, and is kept where a statement is deleted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/ast/ast.h"
#include "compiler/diagnostics/engine.h"

namespace loop::fixes {

/// Collects the edits of one fix over one parsed text; the text and the tree outlive it.
class Rewrite {
 public:
  Rewrite(std::string_view text, const ast::File& file) : text_(text), file_(file) {}

  void replace(base::Span span, std::string text);
  void remove(const ast::Item& item);
  void insert_before(const ast::Item& target, const std::string& statement);
  void insert_after(const ast::Item& target, const std::string& statement);
  /// As the first or last statement of a block.
  void prepend(const ast::Block& block, const std::string& statement);
  void append(const ast::Block& block, const std::string& statement);
  void move_before(const ast::Item& item, const ast::Item& target);
  void move_after(const ast::Item& item, const ast::Item& target);
  void move_to_end(const ast::Item& item, const ast::Block& block);
  /// `head { a; b }` becomes `a; b`.
  void unwrap(const ast::Item& scope, const ast::Block& body);
  /// The statements from `first` to `last`, neighbours in one block, become `head { … }`.
  void wrap(const ast::Item& first, const ast::Item& last, const std::string& head);

  /// One level more of indentation for whole lines, from the one `first` begins on to the one `last` ends on.
  void deepen(const ast::Item& first, const ast::Item& last);

  /// Nothing else stands on the item's lines, a comment aside.
  bool on_own_lines(const ast::Item& item) const;
  /// The source of a span.
  std::string source(base::Span span) const;
  std::vector<diagnostics::Edit> edits() const { return edits_; }

 private:
  size_t line_begin(size_t at) const;
  size_t line_end(size_t at) const;  // of the newline, or of the text
  std::string indent(const ast::Item& item) const;
  bool begins_line(const ast::Item& item) const;
  /// Where the comments directly above begin, else the item's line.
  size_t attached_begin(const ast::Item& item) const;
  const ast::Comment* comment_behind(const ast::Item& item) const;
  /// The item's lines with its comments, indented for another place.
  std::string lines_of(const ast::Item& item, const std::string& indent) const;
  void move(const ast::Item& item, const ast::Item& target, bool before);
  void edit(size_t begin, size_t end, std::string text);

  std::string_view text_;
  const ast::File& file_;
  std::vector<diagnostics::Edit> edits_;
};

}  // namespace loop::fixes
