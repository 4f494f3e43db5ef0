// What a maker of fixes gets: the text, its statements, and the finding.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ast/ast.h"
#include "compiler/diagnostics/engine.h"
#include "compiler/fixes/rewrite.h"

namespace loop::fixes {

/// A statement and where it stands.
struct Place {
  const ast::Item* item = nullptr;
  const ast::Block* block = nullptr;     // the one it stands in; null at the top of the file
  std::vector<const ast::Item*> around;  // the statements that enclose it, outermost first
  explicit operator bool() const { return item != nullptr; }
};

/// `finding` is about `file`, whose text is `text`; all of them outlive the subject.
class Subject {
 public:
  Subject(std::string_view text, const ast::File& file, const diagnostics::Diagnostic& finding);

  const diagnostics::Diagnostic& finding;
  /// The innermost statement that is, or holds, the finding's place.
  const Place& here() const { return here_; }
  /// The innermost statement that covers a span of this text.
  Place at(base::Span span) const;
  /// A block of the loop that the finding is in, or null: "micro", "update", "window", "data".
  const ast::Head* part(std::string_view keyword) const;
  const ast::Item* part_item(std::string_view keyword) const;
  /// The statements of the loop's `micro` and `update`, nested ones included, in the order of the text.
  std::vector<Place> operations(std::string_view block) const;

  Rewrite rewrite() const { return Rewrite(text_, file_); }
  std::string source(base::Span span) const { return rewrite().source(span); }
  const ast::File& file() const { return file_; }

 private:
  std::string_view text_;
  const ast::File& file_;
  Place here_;
};

/// The word that a statement begins with; "when" and "use" for those.
std::string word(const ast::Item& item);
/// Its `{ … }`, or null.
const ast::Block* body(const ast::Item& item);
const ast::Head* head(const ast::Item& item);

/// A fix of one rewrite.
diagnostics::FixIt certain(std::string title, const Rewrite& rewrite);
diagnostics::FixIt likely(std::string title, const Rewrite& rewrite);

/// What makers return: the certain ones in order of preference, of which the first that holds is taken; and
/// choices.
using Fixes = std::vector<diagnostics::FixIt>;

}  // namespace loop::fixes
