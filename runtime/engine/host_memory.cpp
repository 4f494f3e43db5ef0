#include "runtime/engine/host_memory.h"

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

namespace loop::engine {

void keep_freed_memory() {
#if defined(M_TRIM_THRESHOLD) && defined(M_MMAP_THRESHOLD) && defined(M_TOP_PAD)
  constexpr int kTrimBytes = 1 << 30;   // free memory at the top of the heap that is kept
  constexpr int kMapBytes = 32 << 20;   // the largest block that comes from the heap; the library's limit
  constexpr int kGrowBytes = 16 << 20;  // what the heap grows by
  mallopt(M_MMAP_THRESHOLD, kMapBytes);
  mallopt(M_TRIM_THRESHOLD, kTrimBytes);
  mallopt(M_TOP_PAD, kGrowBytes);
#endif
}

}  // namespace loop::engine
