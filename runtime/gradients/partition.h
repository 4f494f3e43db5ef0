// Which group takes which parameter: the plan's predicates as a function of names and dimensions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace loop::gradients {

/// What a predicate can see of a parameter.
struct Candidate {
  std::string name;
  std::vector<std::string> other_names;  // of the same storage; for messages only
  int64_t ndim = 0;
};

/// For every candidate the index of its group. Throws loop::Error (findings) when a candidate is in no group
/// or in several, or a group has no candidate; the message names them.
std::vector<size_t> partition(const std::vector<plan::Group>& groups,
                              const std::vector<Candidate>& candidates);

}  // namespace loop::gradients
