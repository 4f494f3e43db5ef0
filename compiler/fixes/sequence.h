// The order in which a loop's operations belong: where one that is misplaced, or missing, goes.
#pragma once

#include <string>

#include "compiler/fixes/subject.h"

namespace loop::fixes {

/// Of two right places for a statement, directly before what must follow or directly after what must precede.
enum class Side { before_the_next, after_the_last };

/// Moves an operation to its place in `update`, from wherever it stands; writes the block when there is none.
Rewrite put_into_update(const Subject& subject, const ast::Item& item, Side side);
/// Adds an operation at its place in `update`.
Rewrite add_to_update(const Subject& subject, const std::string& statement, Side side);
/// The same, as a part of a larger rewrite.
void add_to_update(const Subject& subject, const std::string& statement, Side side, Rewrite& rewrite);

/// Deletes an operation, and with it a guard or scope that would be left empty.
void take_out(const Subject& subject, const ast::Item& item, Rewrite& rewrite);

/// Whether two operations are written alike.
bool same_text(const Subject& subject, const ast::Item& a, const ast::Item& b);
/// An operation of `block` with this word, or null.
const ast::Item* first_operation(const Subject& subject, std::string_view block, std::string_view word);

}  // namespace loop::fixes
