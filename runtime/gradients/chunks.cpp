#include "runtime/gradients/chunks.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace loop::gradients {
namespace {

// Below this, some tens of microseconds of work, waking a second thread costs more than it saves.
constexpr int64_t kElementsPerThread = 1 << 17;

}  // namespace

// Chunks are claimed one by one, so a helper thread that starts late, or never, delays nobody; the caller
// waits for claimed chunks only. Uses the library's own pool: at::parallel_for would need this file to be
// built with the OpenMP that the library was built with.
void for_each_chunk(size_t count, int64_t elements, const std::function<void(size_t)>& work) {
  struct Shared {
    std::atomic<size_t> next{0};
    size_t done = 0;
    std::mutex mutex;
    std::condition_variable finished;
  };
  const auto shared = std::make_shared<Shared>();
  // `work` is only touched for a claimed chunk, that is, before the caller returns.
  const auto claim = [shared, count, work_address = &work] {
    size_t mine = 0;
    for (size_t i = shared->next++; i < count; i = shared->next++, ++mine) (*work_address)(i);
    if (!mine) return;
    const std::lock_guard lock(shared->mutex);
    shared->done += mine;
    shared->finished.notify_one();
  };
  const int64_t threads = std::min<int64_t>(at::get_num_threads(), elements / kElementsPerThread);
  for (int64_t i = 1; i < threads; ++i) at::launch(claim);
  claim();
  std::unique_lock lock(shared->mutex);
  shared->finished.wait(lock, [&] { return shared->done == count; });
}

void for_each_range(int64_t begin, int64_t end, const std::function<void(int64_t, int64_t)>& work) {
  const int64_t elements = end - begin;
  if (elements <= 0) return;
  const int64_t count = (elements + kChunkElements - 1) / kChunkElements;
  for_each_chunk(static_cast<size_t>(count), elements, [&](size_t i) {
    const int64_t from = begin + static_cast<int64_t>(i) * kChunkElements;
    work(from, std::min(from + kChunkElements, end));
  });
}

double tree_sum(const double* values, size_t count) {
  if (count == 0) return 0;
  if (count == 1) return values[0];
  return tree_sum(values, count / 2) + tree_sum(values + count / 2, count - count / 2);
}

}  // namespace loop::gradients
