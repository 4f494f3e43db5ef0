// The plan's operations as one of several ranks reads them: its symbols `ranks` and UNIT.rank as numbers.
#pragma once

#include "runtime/engine/objective.h"
#include "runtime/plan/plan.h"

namespace loop::verify {

/// Same operations in the same order as `operations`. `rank_counts`: N_r of every count class.
std::vector<plan::Operation> for_rank(std::vector<plan::Operation> operations, int64_t ranks,
                                      const engine::Counts& rank_counts,
                                      const std::vector<plan::CountClass>& classes);

/// `at_least: ranks` as a number.
std::vector<plan::CountClass> for_ranks(std::vector<plan::CountClass> classes, int64_t ranks);

}  // namespace loop::verify
