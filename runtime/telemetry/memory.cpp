#include "runtime/telemetry/memory.h"

#include <sys/resource.h>

namespace loop::telemetry {

int64_t peak_memory_bytes() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace loop::telemetry
