// Collates micro-batches on a thread of its own while the model works on earlier ones.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <variant>

#include "loop/source.h"
#include "runtime/data/window_former.h"

namespace loop::data {

/// What a batch's tensors take.
int64_t bytes_of(const Batch& batch);

/// Batches come out in the order in which they were asked for, whatever the threads do. One thread calls the
/// members; the source must outlive this object.
class Prefetcher {
 public:
  static constexpr int64_t kDepth = 2;
  /// So many bytes of small batches may wait besides: a thread that is woken for each of them costs more than
  /// they do.
  static constexpr int64_t kLightBytes = 1 << 20;
  /// Holds at most `depth` ≥ 1 collated batches that have not been taken, or more while all of them together
  /// are smaller than `light_bytes`.
  explicit Prefetcher(const Source& source, int64_t depth = kDepth, int64_t light_bytes = 0);
  /// Waits for the batch in work, if any; everything else is dropped.
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// Asks for one more batch. Never waits.
  void request(MicroBatchPlan micro_batch);
  /// Asks for all of a window's.
  void request_all(const WindowPlan& window);

  /// The batch of the oldest request not yet taken; waits for it. What went wrong in collating it is thrown
  /// here as loop::Error with the sample in its message; the next call gives the batch after it. Throws
  /// loop::Error (internal) without a request.
  Batch next();

  /// Forgets all requests and batches, so that the next request is the next batch (the end of a run, another
  /// place in the data).
  void clear();

  /// Requests not yet taken.
  int64_t pending() const;

 private:
  using Outcome = std::variant<Batch, std::exception_ptr>;

  void work();
  bool room() const;
  void wake();
  static Batch taken(Outcome outcome);
  Outcome collate(const MicroBatchPlan& micro_batch) const;

  const Source& source_;
  const int64_t depth_;
  const int64_t light_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable wanted_;       // for the thread: there is something to do
  std::condition_variable ready_;        // for who takes: there is a batch
  std::deque<MicroBatchPlan> requests_;  // not yet begun
  std::deque<Outcome> outcomes_;
  int64_t outcome_bytes_ = 0;
  bool in_work_ = false;    // the thread collates a batch
  bool sleeping_ = false;   // the thread waits to be woken
  int64_t stopped_at_ = 0;  // outcomes that waited when it fell asleep
  int64_t generation_ = 0;  // counts clear(); an outcome of an earlier one is dropped
  bool stopping_ = false;
  std::thread thread_;  // last: everything it uses is there when it starts
};

}  // namespace loop::data
