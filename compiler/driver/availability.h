// What the language has and this build's runtime has not: findings of `run` only, so that nothing a spec says
// is ever passed over.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/diagnostics/engine.h"
#include "compiler/sema/spec.h"

namespace loop::driver {

/// Reports L990 for every part of the loop the runtime cannot carry out, and L991 when `ranks` (of the
/// command line) contradicts the loop.
void report_unavailable(const sema::Spec& spec, std::optional<int64_t> ranks, diagnostics::Engine& engine);

}  // namespace loop::driver
