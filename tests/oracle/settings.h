// Which settings are tried, and how far around which programs.
#pragma once

#include <vector>

#include "tests/oracle/mutations.h"

namespace loop::oracle {

/// The settings of the promise: one and two count classes and groups, with and without fp16, canonical and
/// manual synchronisation, sum and mean; K = 3, ranks and counts open.
std::vector<Setting> promised_settings();

/// Everything else a spec may fix: K = 1, ramps, windows in tokens, fixed ranks, equal counts, tails, units
/// that do not count, `micro` left to the compiler.
std::vector<Setting> all_settings();

}  // namespace loop::oracle
