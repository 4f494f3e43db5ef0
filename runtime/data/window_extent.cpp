#include "runtime/data/window_extent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "loop/error.h"
#include "runtime/data/permutation.h"

namespace loop::data {
namespace {

using Unit = plan::WindowSize::Unit;

Error impossible(const std::string& message, const std::string& repair) {
  return Error(ErrorKind::findings, message, repair);
}

int64_t ceiling(int64_t numerator, int64_t denominator) {
  return numerator / denominator + (numerator % denominator != 0);
}

}  // namespace

int64_t window_size_at(const plan::WindowSize& size, double ramp_clock) {
  if (!size.ramp || ramp_clock >= size.ramp->over) return size.value;
  const int64_t from = size.ramp->from;
  const double part = std::max(ramp_clock, 0.0) / size.ramp->over;
  // Towards `from`: the value changes only when a whole step has been gone.
  return from + static_cast<int64_t>(std::trunc(static_cast<double>(size.value - from) * part));
}

ExtentWalker::ExtentWalker(WindowFormerOptions options) : options_(std::move(options)) {
  check_options();
  const int64_t b = options_.micro_batch_samples;
  const int64_t most = std::numeric_limits<int64_t>::max();
  global_micro_batch_samples_ = b > most / options_.ranks ? most : b * options_.ranks;
  usable_samples_ = options_.size_samples;
  if (in_micro_batches() && options_.short_policy == plan::ShortPolicy::drop) {
    usable_samples_ -= options_.size_samples % global_micro_batch_samples_;
  }
  check_reachable();
}

void ExtentWalker::check_options() const {
  if (options_.size_samples <= 0) {
    throw impossible("the training source has no samples", "name a source with at least one sample");
  }
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw Error(ErrorKind::internal, std::string("window former: ") + what);
  };
  require(options_.micro_batch_samples >= 1, "a micro-batch needs at least one sample");
  require(options_.ranks >= 1 && options_.rank >= 0 && options_.rank < options_.ranks,
          "the rank is outside the ranks");
  require(options_.window.value >= 1, "a window's size is at least 1");
  require(!options_.window.ramp || options_.window.ramp->from >= 1, "a ramp starts at 1 or more");
  require(options_.window.unit != Unit::tokens || options_.tokens,
          "windows in tokens need the counts of tokens");
  require(options_.window.unit != Unit::positions || options_.positions,
          "windows in positions need their counts");
  if (!in_micro_batches() && options_.short_policy == plan::ShortPolicy::drop) {
    throw impossible(
        std::string("short = drop cannot go with a window in ") + plan::name(options_.window.unit) +
            ": which samples it takes would depend on the micro-batch and the number of ranks",
        "leave `short` out, or give the window's size in micro_batches; `tail` decides about the remainder");
  }
}

// Walks from `begin` over the epoch's order until the samples passed add up to `enough` units, or to the
// epoch's end.
ExtentWalker::Stretch ExtentWalker::walk(int64_t epoch, int64_t begin, int64_t enough) const {
  if (options_.window.unit == Unit::samples) {
    const int64_t taken = std::min(enough, options_.size_samples - begin);
    return {begin + taken, taken};
  }
  const auto& units = options_.window.unit == Unit::tokens ? options_.tokens : options_.positions;
  const Permutation order(options_.size_samples, options_.seed, epoch, options_.order);
  Stretch stretch{begin, 0};
  while (stretch.units < enough && stretch.end < options_.size_samples)
    stretch.units += units(order(stretch.end++));
  return stretch;
}

int64_t ExtentWalker::micro_batches_left(int64_t position) const {
  return ceiling(usable_samples_ - position, global_micro_batch_samples_);
}

// Whether what is left of the epoch from `position` reaches `size`.
bool ExtentWalker::fits(int64_t epoch, int64_t position, int64_t size) const {
  if (in_micro_batches()) return micro_batches_left(position) >= size;
  return walk(epoch, position, size).units >= size;
}

// Every size the window can take must be reachable: a run that fails when its ramp arrives there would fail
// late.
void ExtentWalker::check_reachable() const {
  const std::string n = std::to_string(options_.size_samples);
  if (usable_samples_ == 0) {
    throw impossible("short = drop leaves nothing of an epoch of " + n +
                         " samples: one micro-batch of all ranks takes " +
                         std::to_string(global_micro_batch_samples_),
                     "make micro_batch smaller, or use short = keep");
  }
  const int64_t largest =
      std::max(options_.window.value, options_.window.ramp ? options_.window.ramp->from : 0);
  if (options_.tail == plan::Tail::drop && !fits(0, 0, largest)) {
    std::string has = n + " samples";
    if (in_micro_batches()) {
      has += " (" + std::to_string(micro_batches_left(0)) + " micro-batches of " +
             std::to_string(global_micro_batch_samples_) + ")";
    }
    throw impossible("tail = drop leaves no window at all: a window takes " + std::to_string(largest) + " " +
                         plan::name(options_.window.unit) + ", but an epoch has only " + has,
                     "make the window smaller, or use tail = carry or tail = flush");
  }
  if (options_.tail == plan::Tail::carry && !fits(0, 0, 1)) {
    throw impossible(std::string("no window can be filled: the training source has no ") +
                         plan::name(options_.window.unit) + " that count",
                     "check the loss's `ignore` and the source");
  }
}

// Extends the window within the current epoch by at most `missing`; gives what it added.
int64_t ExtentWalker::gather(WindowExtent& extent, int64_t missing) {
  int64_t added = 0;
  if (in_micro_batches()) {
    while (added < missing && cursor_.position < usable_samples_) {
      const int64_t taken = std::min(global_micro_batch_samples_, usable_samples_ - cursor_.position);
      extent.runs.push_back({cursor_.epoch, cursor_.position, cursor_.position + taken});
      cursor_.position += taken;
      ++added;
    }
    return added;
  }
  const Stretch stretch = walk(cursor_.epoch, cursor_.position, missing);
  if (stretch.end > cursor_.position) extent.runs.push_back({cursor_.epoch, cursor_.position, stretch.end});
  cursor_.position = stretch.end;
  return stretch.units;
}

// Goes to the next epoch; what has not been dealt is lost.
void ExtentWalker::leave_epoch(WindowExtent& extent) {
  const int64_t lost = options_.size_samples - cursor_.position;
  extent.lost_samples += lost;
  cursor_.lost_samples += lost;
  cursor_.position = 0;
  ++cursor_.epoch;
}

// After a window: leaves the epoch if nothing more of it can be dealt. Under drop that needs the next
// window's size; a ramp only gives a lower bound of it, and what is decided too late here is decided when the
// next window opens.
void ExtentWalker::settle(WindowExtent& extent, int64_t size) {
  const int64_t smallest = std::min(size, options_.window.value);
  const bool exhausted = cursor_.position >= usable_samples_;
  if (exhausted || (options_.tail == plan::Tail::drop && !fits(cursor_.epoch, cursor_.position, smallest))) {
    extent.ends_epoch = true;
    leave_epoch(extent);
  }
}

WindowExtent ExtentWalker::next(double ramp_clock, std::optional<int64_t> epochs) {
  WindowExtent extent;
  extent.continues = cursor_.open_size > 0;
  const int64_t size = extent.continues ? cursor_.open_size : window_size_at(options_.window, ramp_clock);
  int64_t reached = std::exchange(cursor_.open_reached, 0);
  cursor_.open_size = 0;
  for (;;) {
    if (epochs && cursor_.epoch >= *epochs) {
      extent.complete = false;
      const bool open = extent.continues || !extent.runs.empty();
      if (open) cursor_.open_size = size, cursor_.open_reached = reached;
      return extent;
    }
    reached += gather(extent, size - reached);
    if (reached >= size) break;
    if (options_.tail == plan::Tail::flush) {
      extent.tail = true;
      break;
    }
    if (options_.tail == plan::Tail::drop) {
      for (const Run& run : extent.runs) cursor_.position -= run.samples();
      extent.runs.clear();
      reached = 0;
    }
    leave_epoch(extent);
  }
  settle(extent, size);
  return extent;
}

void ExtentWalker::restore(const Cursor& cursor) {
  const bool inside = cursor.epoch >= 0 && cursor.position >= 0 && cursor.position < usable_samples_ &&
                      cursor.lost_samples >= 0 && cursor.open_reached >= 0 &&
                      (cursor.open_size == 0 || cursor.open_reached < cursor.open_size);
  if (!inside) {
    throw Error(ErrorKind::usage,
                "the saved place (epoch " + std::to_string(cursor.epoch) + ", sample " +
                    std::to_string(cursor.position) + ") lies outside the training source of " +
                    std::to_string(options_.size_samples) + " samples",
                "continue with the data the run was started with");
  }
  cursor_ = cursor;
}

double ExtentWalker::epochs() const {
  return static_cast<double>(cursor_.epoch) +
         static_cast<double>(cursor_.position) / static_cast<double>(options_.size_samples);
}

namespace {

// The clocks a ramp may name, as far as counting can foresee them.
class ForeseenClocks {
 public:
  explicit ForeseenClocks(const WindowFormerOptions& options) : options_(options) {}

  double value(plan::Clock clock) const {
    using plan::Clock;
    switch (clock) {
      case Clock::updates:
      case Clock::attempts:
        return static_cast<double>(windows_);
      case Clock::micro_batches:
        return static_cast<double>(micro_batches_);
      case Clock::epochs:
        return epochs_;
      case Clock::samples:
      case Clock::samples_seen:
        return static_cast<double>(samples_);
      case Clock::tokens:
      case Clock::tokens_seen:
        return static_cast<double>(tokens_);
      case Clock::evaluations:
      case Clock::seconds:
        break;
    }
    throw impossible("the number of windows cannot be foreseen: the window's ramp goes over " +
                         std::string(plan::name(clock)),
                     "let the ramp go over updates, samples, tokens or epochs, or do not use `horizon`");
  }

  void advance(const WindowExtent& extent, double epochs) {
    ++windows_;
    epochs_ = epochs;
    int64_t samples = 0;
    for (const Run& run : extent.runs) samples += run.samples();
    samples_ += samples;
    const bool per_run = options_.window.unit == Unit::micro_batches;
    micro_batches_ += per_run ? static_cast<int64_t>(extent.runs.size())
                              : ceiling(ceiling(samples, options_.ranks), options_.micro_batch_samples);
    const bool tokens_matter = options_.window.ramp && options_.tokens &&
                               (options_.window.ramp->over_clock == plan::Clock::tokens ||
                                options_.window.ramp->over_clock == plan::Clock::tokens_seen);
    if (!tokens_matter) return;
    for (const Run& run : extent.runs) {
      const Permutation order(options_.size_samples, options_.seed, run.epoch, options_.order);
      for (int64_t p = run.begin; p < run.end; ++p) tokens_ += options_.tokens(order(p));
    }
  }

 private:
  const WindowFormerOptions& options_;
  int64_t windows_ = 0;
  int64_t micro_batches_ = 0;
  int64_t samples_ = 0;
  int64_t tokens_ = 0;
  double epochs_ = 0;
};

}  // namespace

int64_t count_windows(const WindowFormerOptions& options, int64_t epochs) {
  ExtentWalker walker(options);
  ForeseenClocks clocks(walker.options());
  for (int64_t windows = 0;; ++windows) {
    const double ramp_clock = options.window.ramp ? clocks.value(options.window.ramp->over_clock) : 0;
    const WindowExtent extent = walker.next(ramp_clock, epochs);
    if (!extent.complete) return windows;
    clocks.advance(extent, walker.epochs());
  }
}

}  // namespace loop::data
