// How many updates the run's epochs have, where the spec fixes data, ranks and windows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/sema/spec.h"

namespace loop::check {

/// Samples of a full window over all ranks: a size in samples, or in tokens of which every sample has as
/// many.
std::optional<int64_t> samples_per_window(const sema::Spec& spec, const plan::WindowSize& size);

struct PlannedWindows {
  int64_t windows = 0;
  std::string reckoning;  // "an epoch has 3 updates: 12 micro-batches, 4 per window, `tail = flush`"
};

/// The windows that `epochs` whole epochs give, as the run will form them; a ramp is followed as if every
/// window were applied. Nothing where that depends on what the spec leaves open, or takes long to follow.
std::optional<PlannedWindows> windows_in(const sema::Spec& spec, int64_t epochs);

}  // namespace loop::check
