// Which operations act on which parameter groups, found without comparing every operation with every group: a
// loop may have thousands of both.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/check/typestate/trace.h"

namespace loop::check {

/// The trainable groups of a loop by name.
class GroupIndex {
 public:
  explicit GroupIndex(const sema::Spec& spec);
  /// The trainable groups an operation acts on, as ascending indices of spec.groups.
  std::vector<int> groups_of(const plan::Operation& operation) const;

 private:
  std::unordered_map<std::string_view, int> by_name_;
  std::vector<int> trainable_;
};

/// For each group of a spec, positions in a list of operations or events, ascending.
using ByGroup = std::vector<std::vector<int>>;

/// The operations with this effect that act on each group.
ByGroup operations_by_group(const sema::Spec& spec, const GroupIndex& groups,
                            const std::vector<const sema::Operation*>& operations,
                            operations::GradientEffect effect);
/// The same for the events of a window.
ByGroup events_by_group(const sema::Spec& spec, const GroupIndex& groups, const std::vector<Event>& events,
                        operations::GradientEffect effect);

}  // namespace loop::check
