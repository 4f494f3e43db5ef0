// Which written factors can divide by a count of zero.
#pragma once

#include "compiler/check/typestate/facts.h"

namespace loop::check {

/// The symbol of a power in `factor` that divides by a count which can be zero in a window that has counted
/// units at all; null when there is none.
const plan::Power* division_by_empty_count(const plan::Factor& factor, const Facts& facts);

inline bool divides_by_empty_count(const plan::Factor& factor, const Facts& facts) {
  return division_by_empty_count(factor, facts) != nullptr;
}

}  // namespace loop::check
