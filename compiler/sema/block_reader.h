// Reads a block against its table: unknown, repeated, misplaced and malformed keys are reported once, here.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/sema/context.h"
#include "compiler/sema/keys.h"

namespace loop::sema {

class BlockReader {
 public:
  /// `place` is where a missing key is reported: the block's keyword or the loop's name.
  BlockReader(Context& context, const BlockTable& table, const std::vector<ast::ItemPtr>& items, Span place);

  /// The statement of a key, or null. For a key with a value, `value` is set.
  const ast::Head* find(std::string_view key) const;
  /// All statements of a named key (`evaluate NAME {…}`), in order.
  std::vector<const ast::Head*> named(std::string_view key) const;
  /// The user's own names of a block that has them, in order.
  const std::vector<const ast::Head*>& free_names() const { return free_names_; }
  Span place() const { return place_; }
  /// A key was written wrongly (and reported), so that its absence needs no further finding.
  bool was_misspelt(std::string_view key) const;

  /// Reports a name that the block does not have, with what was likely meant.
  void unknown(const ast::Head& head);

  /// Reports that a required key is missing, with what it takes and means and `choices` as help lines.
  void missing(std::string_view key, const std::vector<std::string>& choices = {}) const;

 private:
  void read(const ast::ItemPtr& item);
  bool check_form(const ast::Head& head, const Key& key);

  Context& context_;
  const BlockTable& table_;
  Span place_;
  std::map<std::string, const ast::Head*> single_;
  std::map<std::string, std::vector<const ast::Head*>> named_;
  std::map<std::pair<std::string, std::string>, const ast::Head*> named_by_name_;  // key and name
  std::vector<const ast::Head*> free_names_;
  std::map<std::string, const ast::Head*> free_by_name_;
  std::vector<std::string> misspelt_;
};

/// The place of a whole statement without its block: what a label underlines.
Span head_span(const ast::Head& head);

}  // namespace loop::sema
