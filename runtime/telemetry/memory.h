// Memory the process has used.
#pragma once

#include <cstdint>

namespace loop::telemetry {

/// The largest resident size so far, in bytes; 0 where the system does not say.
int64_t peak_memory_bytes();

}  // namespace loop::telemetry
