// One loop, everything inherited written in, to a Spec.
#pragma once

#include <optional>

#include "compiler/sema/spec.h"
#include "compiler/sema/tree.h"

namespace loop::sema {

/// Nothing when its program or its objective could not be understood; every finding is reported.
std::optional<Spec> read_loop(Context& context, const LoopTree& tree);

/// Whether the loop misses a required key, so that as a base of others it need not stand alone.
bool is_incomplete(const LoopTree& tree);

}  // namespace loop::sema
