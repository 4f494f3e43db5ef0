// Schedules: functions of a clock, written into the hyper-parameter that uses them.
#pragma once

#include <optional>
#include <vector>

#include "compiler/sema/scalar.h"
#include "compiler/sema/spec.h"

namespace loop::sema {

/// A value that may follow a clock: a number, an expression over schedules. Every schedule met is added to
/// `uses`.
std::optional<Scalar> read_scheduled(Context& context, const ast::Expr& expr, std::vector<ScheduleUse>& uses);

/// What is wrong in a schedule's definition even when nobody uses it.
void check_schedule(Context& context, const Definition& schedule);

}  // namespace loop::sema
