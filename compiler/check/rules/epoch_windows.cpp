#include "compiler/check/rules/epoch_windows.h"

#include <algorithm>
#include <cmath>

#include "compiler/base/arithmetic.h"
#include "compiler/check/rules/rules.h"
#include "compiler/diagnostics/counts.h"
#include "runtime/plan/names.h"

namespace loop::check {
namespace {

using Unit = plan::WindowSize::Unit;

constexpr int64_t kMostSamples = int64_t{1} << 40;  // of epochs together: products stay in range
constexpr int64_t kMostWindows = 1'000'000;         // that a ramp is followed for

/// An epoch as pieces of which windows are made: micro-batches of all ranks together, or single samples.
struct Epoch {
  int64_t samples = 0;
  int64_t usable = 0;  // without what `short = drop` leaves out
  int64_t piece = 1;   // samples of a piece; the last one can have fewer

  int64_t pieces_from(int64_t position) const { return base::divided_up(usable - position, piece); }
};

std::optional<Epoch> epoch_of(const sema::Spec& spec) {
  const sema::SourceUse* source = train_source(spec);
  if (!source || !source->facts.finite || !source->facts.size_samples || source->facts.split_by_file)
    return std::nullopt;
  Epoch epoch{*source->facts.size_samples, *source->facts.size_samples, 1};
  if (epoch.samples <= 0 || epoch.samples > kMostSamples) return std::nullopt;
  const bool drops = spec.data.short_policy.value == plan::ShortPolicy::drop;
  if (spec.window.size.value.unit != Unit::micro_batches) return drops ? std::nullopt : std::optional(epoch);
  const int64_t ranks = spec.ranks.value.value_or(0);
  const int64_t micro_batch = spec.data.micro_batch_samples.value;
  if (ranks <= 0 || micro_batch <= 0 || micro_batch > kMostSamples / ranks) return std::nullopt;
  epoch.piece = micro_batch * ranks;
  if (drops) epoch.usable -= epoch.samples % epoch.piece;
  if (epoch.usable == 0) return std::nullopt;
  return epoch;
}

/// Pieces that a window of this size takes; nothing where samples differ.
std::optional<int64_t> pieces_of(const sema::Spec& spec, const plan::WindowSize& size) {
  if (size.unit == Unit::micro_batches) return size.value;
  return samples_per_window(spec, size);
}

plan::WindowSize at_size(plan::WindowSize size, int64_t value) {
  size.value = value;
  size.ramp.reset();
  return size;
}

/// Goes through the epochs window by window, as a ramp's sizes depend on what came before.
class RampWalk {
 public:
  RampWalk(const sema::Spec& spec, const Epoch& epoch) : spec_(spec), epoch_(epoch) {}

  std::optional<int64_t> windows(int64_t epochs) {
    const plan::WindowSize& size = spec_.window.size.value;
    const std::optional<int64_t> last = pieces_of(spec_, at_size(size, size.value));
    int64_t windows = 0;
    while (windows < kMostWindows) {
      const std::optional<double> clock = clock_value(windows);
      if (!clock) return std::nullopt;
      const std::optional<int64_t> pieces = pieces_of(spec_, at_size(size, size_at(*clock)));
      if (!last || !pieces) return std::nullopt;
      if (!take(*pieces, epochs)) return windows;
      ++windows;
      const bool drop = spec_.window.tail.value == plan::Tail::drop;
      const bool exhausted = position_ >= epoch_.usable;
      if (exhausted || (drop && epoch_.pieces_from(position_) < std::min(*pieces, *last))) leave();
    }
    return std::nullopt;
  }

 private:
  int64_t size_at(double clock) const {
    const plan::WindowSize& size = spec_.window.size.value;
    if (clock >= size.ramp->over) return size.value;
    const double part = std::max(clock, 0.0) / size.ramp->over;
    return size.ramp->from +
           static_cast<int64_t>(std::trunc(static_cast<double>(size.value - size.ramp->from) * part));
  }

  std::optional<double> clock_value(int64_t windows) const {
    switch (spec_.window.size.value.ramp->over_clock) {
      case plan::Clock::updates:
      case plan::Clock::attempts:
        return static_cast<double>(windows);
      case plan::Clock::samples:
      case plan::Clock::samples_seen:
        return static_cast<double>(samples_);
      case plan::Clock::epochs:
        return static_cast<double>(epoch_index_) +
               static_cast<double>(position_) / static_cast<double>(epoch_.samples);
      default:
        return std::nullopt;
    }
  }

  /// False when the epochs end before the window is complete.
  bool take(int64_t pieces, int64_t epochs) {
    int64_t missing = pieces;
    while (epoch_index_ < epochs) {
      const int64_t begin = position_;
      const int64_t taken = std::min(missing, epoch_.pieces_from(begin));
      const bool short_of = taken < missing;
      if (short_of && spec_.window.tail.value == plan::Tail::drop) {
        if (begin == 0) return false;  // no epoch has such a window
        leave();
        continue;
      }
      position_ = std::min(epoch_.usable, begin + taken * epoch_.piece);
      samples_ += position_ - begin;
      missing -= taken;
      if (!short_of || spec_.window.tail.value == plan::Tail::flush) return true;
      leave();
    }
    return false;
  }

  void leave() {
    ++epoch_index_;
    position_ = 0;
  }

  const sema::Spec& spec_;
  const Epoch& epoch_;
  int64_t epoch_index_ = 0;
  int64_t position_ = 0;  // in samples
  int64_t samples_ = 0;
};

std::string counted(int64_t count, const std::string& noun) {
  return diagnostics::counted(static_cast<size_t>(count), noun);
}

}  // namespace

std::optional<int64_t> samples_per_window(const sema::Spec& spec, const plan::WindowSize& size) {
  if (size.ramp || size.unit == Unit::micro_batches) return std::nullopt;
  if (size.unit == Unit::samples) return size.value;
  const sema::SourceUse* source = train_source(spec);
  const int64_t context = spec.model.facts.context.value_or(0);
  if (!source || !source->facts.equal_counts || context <= 0) return std::nullopt;
  return base::divided_up(size.value, context);
}

std::optional<PlannedWindows> windows_in(const sema::Spec& spec, int64_t epochs) {
  const std::optional<Epoch> epoch = epoch_of(spec);
  const std::optional<plan::Tail>& tail = spec.window.tail.value;
  const plan::WindowSize& size = spec.window.size.value;
  if (!epoch || !tail || epochs <= 0 || epochs > kMostSamples / epoch->samples) return std::nullopt;
  const std::optional<int64_t> most = pieces_of(spec, at_size(size, size.value));
  if (!most || *most <= 0) return std::nullopt;
  const int64_t pieces = epoch->pieces_from(0);
  const bool counts_micro_batches = size.unit == Unit::micro_batches;
  const std::string pieces_text =
      counts_micro_batches ? std::to_string(pieces) + (pieces == 1 ? " micro-batch" : " micro-batches")
                           : counted(pieces, "sample");
  std::string each = std::to_string(*most);
  PlannedWindows planned;
  if (size.ramp) {
    const std::optional<int64_t> least = pieces_of(spec, at_size(size, size.ramp->from));
    const std::optional<int64_t> windows = RampWalk(spec, *epoch).windows(epochs);
    if (!least || !windows) return std::nullopt;
    planned.windows = *windows;
    each = std::to_string(*least) + " to " + each;
  } else if (*tail == plan::Tail::carry) {
    planned.windows = epochs * pieces / *most;
  } else {
    const bool flush = *tail == plan::Tail::flush;
    planned.windows = epochs * (flush ? base::divided_up(pieces, *most) : pieces / *most);
  }
  const bool alike = !size.ramp && *tail != plan::Tail::carry;
  const std::string of_tail = ", " + each + " per window, `tail = " + plan::spelling(*tail) + "`";
  planned.reckoning =
      alike ? "an epoch has " + counted(planned.windows / epochs, "update") + ": " + pieces_text + of_tail
            : counted(epochs, "epoch") + " of " + pieces_text + of_tail + ", have " +
                  counted(planned.windows, "update");
  return planned;
}

}  // namespace loop::check
