// Whether a window's counts are exchanged before its first forward.
#pragma once

#include <vector>

#include "runtime/plan/operation.h"

namespace loop::plan {

/// A micro-batch's operations read what is only known of the whole window: its counts, or the division by
/// them.
bool needs_counts_ahead(const std::vector<Operation>& micro);

}  // namespace loop::plan
