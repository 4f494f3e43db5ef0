// One loop with everything it inherits written in: `extends`, recipes and overrides merge into one list of
// statements, constants and recipe parameters are replaced by their values. What the blocks mean is decided
// afterwards.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/sema/context.h"

namespace loop::sema {

struct LoopTree {
  std::string name;
  Span name_span;
  Span span;  // the loop's statement
  std::vector<ast::ItemPtr> items;
};

/// One `--set key=value`, parsed.
struct Override {
  std::vector<std::string> path;
  std::string text;  // as given
  ast::ExprPtr value;
  Span span;  // the value, in a text of its own named "--set key"
};

/// Reads the overrides of the command line; a malformed one is reported and left out.
std::vector<Override> read_overrides(Context& context, const std::vector<std::string>& texts);

/// Nothing when the loop cannot be put together (reported).
std::optional<LoopTree> expand(Context& context, const Definition& loop);

/// Puts the overrides in: the key is replaced where it stands, else added.
void apply(Context& context, const std::vector<Override>& overrides, LoopTree& tree);

/// The statements of `derived` over those of `base`: block by block and key by key; `micro` and `update` are
/// one piece.
std::vector<ast::ItemPtr> merge(const std::vector<ast::ItemPtr>& base,
                                const std::vector<ast::ItemPtr>& derived);

/// Reports constants that are defined by themselves (then the answer is false: nothing that uses them can be
/// read), and what is wrong in constants that no loop uses.
bool check_constants(Context& context, const Module& module);

}  // namespace loop::sema
