// Which samples make up each window: decided from counts alone, before any tensor exists, and independent of
// the number of ranks for windows counted in samples, tokens or positions (language reference, "Meaning of a
// window").
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/data/permutation.h"
#include "runtime/data/window_extent.h"
#include "runtime/plan/plan.h"

namespace loop::data {

struct MicroBatchPlan {
  std::vector<int64_t> samples;  // this rank's, may be empty
  int64_t padding_rows = 0;      // short = pad
};

struct WindowPlan {
  std::vector<MicroBatchPlan> micro;  // this rank's, K entries (K equal on all ranks)
  int64_t micro_batches = 0;          // K
  int64_t samples = 0;                // all ranks
  int64_t tokens = 0;                 // counted targets, all ranks
  int64_t positions = 0;              // read, without padding, all ranks
  bool tail = false;                  // ended by the end of the epoch before it reached its size (flush)
  bool ends_epoch = false;            // its last sample is the last of an epoch that is dealt
  bool continues = false;   // the rest of a window whose first part an earlier next_until() returned
  int64_t epoch = 0;        // 0-based epoch of its first sample
  double epochs_after = 0;  // value of the epochs clock when it has been finished
  int64_t lost_samples =
      0;  // left out (drop, short = drop) between the window before and the end of this one
};

/// Forms windows one after the other over the epochs, without end; the caller stops.
///   micro_batches: K global micro-batches. Each takes the next R·b samples of the epoch's order and deals
///   them to the ranks in
///     turn, rank r taking every R-th. It never spans two epochs; the last one of an epoch may be smaller
///     (short_policy: keep, then ranks differ by at most one sample; drop, its samples are lost; pad, every
///     rank's rows are filled up to b).
///   samples, tokens, positions: the shortest prefix of the remaining global order that reaches the size, the
///   crossing sample
///     included; dealt to ranks in turn and cut into micro-batches of b; K = max K_r, the shorter ranks get
///     empty micro-batches. short = pad fills every micro-batch up to b rows; short = drop would make the
///     members depend on b and R, and is refused.
///   tail: flush ends a window at the epoch's end; carry lets it run on into the next epoch; drop leaves the
///   remainder out.
/// Samples that no later window of the epoch can take are counted as lost with the last window that is formed
/// in it.
class WindowFormer {
 public:
  /// Throws loop::Error (findings) when no window can ever be formed (drop with an epoch smaller than a
  /// window, an empty source).
  explicit WindowFormer(WindowFormerOptions options);
  /// The next window. `ramp_clock` is the value of the ramp's clock now (ignored without a ramp): K is fixed
  /// from it here.
  WindowPlan next(double ramp_clock = 0);
  /// As next(), but stops at the end of epoch number `epochs` (1-based count): what was gathered of an
  /// unfinished window under carry is returned with `complete` false so that it can be logged (and, later,
  /// saved). The cursor then knows the open window, and the call after it returns the rest (`continues`).
  struct Bounded {
    WindowPlan window;
    bool complete =
        true;  // false: the stream ended first; window.micro holds the unfinished part, maybe nothing
  };
  Bounded next_until(int64_t epochs, double ramp_clock = 0);
  Cursor cursor() const;
  /// Continues as a former with the same options whose cursor() this was. Throws loop::Error (usage) if it
  /// does not fit.
  void restore(const Cursor& cursor);
  /// Samples left out so far (drop, short = drop).
  int64_t lost_samples() const;

 private:
  WindowPlan deal(const WindowExtent& extent) const;
  void deal_run(const std::vector<int64_t>& order, WindowPlan& plan) const;

  ExtentWalker walker_;
};

}  // namespace loop::data
