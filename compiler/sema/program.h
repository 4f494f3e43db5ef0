// `micro { … }` and `update { … }`: statements to operations, over the one table of operations; and the
// canonical order where they are not written.
#pragma once

#include <optional>
#include <vector>

#include "compiler/sema/spec.h"
#include "compiler/sema/values.h"

namespace loop::sema {

/// What the operations may mention, read before.
struct ProgramSurroundings {
  const std::vector<Group>* groups = nullptr;
  const std::vector<plan::CountClass>* count_classes = nullptr;
  const std::vector<Average>* averages = nullptr;
  plan::WindowSize::Unit window_unit = plan::WindowSize::Unit::micro_batches;
  plan::AmpMode amp = plan::AmpMode::off;
  plan::Sync sync = plan::Sync::last;
  plan::ReduceMode reduce = plan::ReduceMode::sum;
};

struct Programs {
  Program micro;
  Program update;
  std::vector<RuleDefinition> rules;
  std::vector<ScheduleUse> schedules;
};

/// Null heads: the block is absent. Nothing when an operation cannot be understood (reported).
std::optional<Programs> read_programs(Context& context, const ast::Head* micro, const ast::Head* update,
                                      const ProgramSurroundings& around, Span loop_name);

/// The canonical micro-batch half.
Program canonical_micro(const ProgramSurroundings& around, Span span);
/// `steps` with the canonical operations around them.
Program completed_update(const ProgramSurroundings& around, std::vector<Operation> steps, Span written_at,
                         Span span);

}  // namespace loop::sema
