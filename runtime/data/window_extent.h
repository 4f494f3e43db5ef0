// Where windows begin and end in the global order of samples, by counting alone. Nothing here depends on this
// process's rank; for windows counted in samples, tokens or positions nothing depends on the number of ranks
// or the micro-batch either.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/plan/plan.h"

namespace loop::data {

/// Where the stream stands: everything that has to be saved to continue it.
struct Cursor {
  int64_t epoch = 0;
  int64_t position = 0;      // samples of this epoch already dealt or left out
  int64_t lost_samples = 0;  // left out since the beginning
  // An unfinished window under carry, cut by the end of the run: the size it was opened with (0: none is
  // open) and how much of that it holds already, in the window's unit.
  int64_t open_size = 0;
  int64_t open_reached = 0;
  friend bool operator==(const Cursor&, const Cursor&) = default;
};

struct WindowFormerOptions {
  int64_t size_samples = 0;  // of the source
  uint64_t seed = 0;
  plan::Order order = plan::Order::shuffled;
  int64_t micro_batch_samples = 1;  // per rank
  plan::ShortPolicy short_policy = plan::ShortPolicy::keep;
  plan::WindowSize window;
  plan::Tail tail = plan::Tail::flush;
  int64_t ranks = 1;
  int64_t rank = 0;
  std::function<int64_t(int64_t)> tokens;     // counted targets of a sample
  std::function<int64_t(int64_t)> positions;  // elements of a sample
};

/// The size of a window that opens now. A ramp moves from its first to its last value in equal steps, each
/// value held for the same time, the last one reached at `over`.
int64_t window_size_at(const plan::WindowSize& size, double ramp_clock);

/// Positions [begin, end) of one epoch's order.
struct Run {
  int64_t epoch = 0;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t samples() const { return end - begin; }
};

struct WindowExtent {
  std::vector<Run> runs;     // micro_batches: one per global micro-batch; other units: one per epoch touched
  bool complete = true;      // false: the stream ended before the window did
  bool continues = false;    // the rest of a window that an earlier call left open
  bool tail = false;         // flush ended it before it reached its size
  bool ends_epoch = false;   // nothing more of the epoch of its last sample will be dealt
  int64_t lost_samples = 0;  // left out since the extent before
};

/// Walks over the epochs, window by window.
class ExtentWalker {
 public:
  /// Throws loop::Error (findings) when no window can ever be formed.
  explicit ExtentWalker(WindowFormerOptions options);

  /// The next window, cut at the end of epoch number `epochs` (a count) if given.
  WindowExtent next(double ramp_clock, std::optional<int64_t> epochs);

  const WindowFormerOptions& options() const { return options_; }
  const Cursor& cursor() const { return cursor_; }
  /// Throws loop::Error (usage) when the cursor lies outside the source.
  void restore(const Cursor& cursor);
  /// Value of the epochs clock at the cursor.
  double epochs() const;

 private:
  bool in_micro_batches() const { return options_.window.unit == plan::WindowSize::Unit::micro_batches; }
  struct Stretch {
    int64_t end;    // first position not taken
    int64_t units;  // in the window's unit
  };
  Stretch walk(int64_t epoch, int64_t begin, int64_t enough) const;
  int64_t micro_batches_left(int64_t position) const;
  bool fits(int64_t epoch, int64_t position, int64_t size) const;
  void check_options() const;
  void check_reachable() const;
  int64_t gather(WindowExtent& extent, int64_t missing);
  void leave_epoch(WindowExtent& extent);
  void settle(WindowExtent& extent, int64_t size);

  WindowFormerOptions options_;
  int64_t global_micro_batch_samples_ = 1;
  int64_t usable_samples_ = 0;  // of an epoch; fewer than all under short = drop
  Cursor cursor_;
};

/// Finished windows in `epochs` whole epochs, by counting alone. A ramp is followed as if every window were
/// applied. Throws loop::Error (findings) for a ramp over a clock that cannot be foreseen (seconds,
/// evaluations), and as ExtentWalker.
int64_t count_windows(const WindowFormerOptions& options, int64_t epochs);

}  // namespace loop::data
