// A checked Spec to a plan.
#pragma once

#include "compiler/base/source.h"
#include "compiler/sema/spec.h"
#include "runtime/plan/plan.h"

namespace loop::planner {

/// Call it only for a Spec without errors.
plan::Plan lower(const sema::Spec& spec, const base::SourceManager& sources);

}  // namespace loop::planner
