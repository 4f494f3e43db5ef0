// How much memory a piece of work takes, counted by the allocator instead of looked at from outside.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <memory>

namespace loop {

/// While it lives, counts the tensors' memory that this thread asks LibTorch's allocators for; backward
/// passes on the CPU run on the thread that starts them. Exact and the same every time: it neither asks the
/// system nor depends on what was freed before. Scratch memory that math libraries take by themselves is not
/// seen. Meters may be nested; the innermost one counts.
class AllocationMeter {
 public:
  AllocationMeter()
      : counter_(std::make_shared<Counter>()), guard_(c10::DebugInfoKind::PROFILER_STATE, counter_) {}

  /// Most bytes held at once of what was allocated since the meter was made.
  int64_t peak_bytes() const { return counter_->peak; }
  /// Still held of it.
  int64_t held_bytes() const { return counter_->held; }
  /// The largest single block.
  int64_t largest_bytes() const { return counter_->largest; }

 private:
  struct Counter : c10::MemoryReportingInfoBase {
    int64_t held = 0;
    int64_t peak = 0;
    int64_t largest = 0;
    void reportMemoryUsage(void*, int64_t bytes, size_t, size_t, c10::Device) override {
      held += bytes;
      peak = std::max(peak, held);
      largest = std::max(largest, bytes);
    }
    bool memoryProfilingEnabled() const override { return true; }
  };

  std::shared_ptr<Counter> counter_;
  c10::DebugInfoGuard guard_;
};

}  // namespace loop
