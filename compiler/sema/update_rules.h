// Optimizers: definitions of update rules, and the hyper-parameters a `step` gives them.
#pragma once

#include <optional>
#include <vector>

#include "compiler/sema/spec.h"
#include "compiler/sema/values.h"

namespace loop::sema {

/// Reads `optimizer NAME(…) { … }`; nothing when it is wrong (reported).
std::optional<RuleDefinition> read_rule(Context& context, const Definition& definition);

/// The optimizer a `step` names, in the file it is written in; reports an unknown or a not imported one.
const Definition* find_optimizer(Context& context, const ast::Name& name);

/// The step's hyper-parameters with defaults filled in and schedules written in, each constant one in its
/// range.
std::optional<std::vector<plan::NamedExpression>> read_hyper_parameters(Context& context,
                                                                        const RuleDefinition& rule,
                                                                        const std::vector<ast::Arg>& args,
                                                                        Span span,
                                                                        std::vector<ScheduleUse>& schedules);

}  // namespace loop::sema
