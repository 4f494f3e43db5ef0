// `params { … }`: parameter groups as a partition of the model's parameters.
#pragma once

#include "compiler/sema/block_reader.h"
#include "compiler/sema/spec.h"

namespace loop::sema {

/// Reads the groups and, when the model's parameters are known, checks that each is in exactly one. Without
/// the block there is one group `all`. Nothing when a predicate cannot be understood.
std::optional<std::vector<Group>> read_groups(Context& context, const ast::Head* params,
                                              const ModelFacts& model, Span fallback);

/// Whether a parameter is in a predicate's set (`others` is decided by the caller).
bool matches(const plan::Predicate& predicate, const ParameterInfo& parameter);

}  // namespace loop::sema
