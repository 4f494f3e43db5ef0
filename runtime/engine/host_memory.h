// How the host's allocator treats what training frees.
#pragma once

namespace loop::engine {

/// Micro-batches allocate and free the same memory again and again. The C library would give it back to the
/// system each time the top of the heap is free, and every page would then be made anew, zeroed, at its next
/// use. From now on this process keeps it. Nothing happens where the C library has no such setting.
void keep_freed_memory();

}  // namespace loop::engine
