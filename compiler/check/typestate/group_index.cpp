#include "compiler/check/typestate/group_index.h"

#include <algorithm>

namespace loop::check {
namespace {

void enter(const std::vector<int>& groups, size_t position, ByGroup& positions) {
  for (const int group : groups) positions[static_cast<size_t>(group)].push_back(static_cast<int>(position));
}

}  // namespace

GroupIndex::GroupIndex(const sema::Spec& spec) {
  for (size_t i = 0; i < spec.groups.size(); ++i) {
    if (spec.groups[i].group.frozen) continue;
    by_name_.emplace(spec.groups[i].group.name, static_cast<int>(i));
    trainable_.push_back(static_cast<int>(i));
  }
}

std::vector<int> GroupIndex::groups_of(const plan::Operation& operation) const {
  if (operation.groups.empty()) return trainable_;
  std::vector<int> found;
  for (const std::string& name : operation.groups) {
    const auto at = by_name_.find(name);
    if (at != by_name_.end()) found.push_back(at->second);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

ByGroup operations_by_group(const sema::Spec& spec, const GroupIndex& groups,
                            const std::vector<const sema::Operation*>& operations,
                            operations::GradientEffect effect) {
  ByGroup positions(spec.groups.size());
  for (size_t i = 0; i < operations.size(); ++i) {
    if (operations::entry(operations[i]->op.kind).gradient_effect == effect)
      enter(groups.groups_of(operations[i]->op), i, positions);
  }
  return positions;
}

ByGroup events_by_group(const sema::Spec& spec, const GroupIndex& groups, const std::vector<Event>& events,
                        operations::GradientEffect effect) {
  ByGroup positions(spec.groups.size());
  for (size_t i = 0; i < events.size(); ++i) {
    if (events[i].entry->gradient_effect == effect)
      enter(groups.groups_of(events[i].operation->op), i, positions);
  }
  return positions;
}

}  // namespace loop::check
