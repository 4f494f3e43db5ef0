// The parameters' sizes as the rule that forms buckets reads them.
#pragma once

#include "runtime/gradients/parameters.h"
#include "runtime/plan/buckets.h"

namespace loop::gradients {

/// One list per group, in the order of the group's slots.
std::vector<std::vector<plan::SlotSize>> slot_sizes(const std::vector<ParameterGroup>& groups);

}  // namespace loop::gradients
