#include "runtime/gradients/slot_sizes.h"

namespace loop::gradients {

std::vector<std::vector<plan::SlotSize>> slot_sizes(const std::vector<ParameterGroup>& groups) {
  std::vector<std::vector<plan::SlotSize>> sizes;
  for (const ParameterGroup& group : groups) {
    sizes.emplace_back();
    for (const Slot& slot : group.slots) sizes.back().push_back({slot.size, !slot.aliases.empty()});
  }
  return sizes;
}

}  // namespace loop::gradients
