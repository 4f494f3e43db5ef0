#include "runtime/data/window_former.h"

#include <algorithm>
#include <utility>

namespace loop::data {
namespace {

using Unit = plan::WindowSize::Unit;

// Rows of rank `rank` among `samples` dealt in turn, the first to rank 0.
int64_t share(int64_t samples, int64_t ranks, int64_t rank) {
  return samples / ranks + (rank < samples % ranks);
}

}  // namespace

WindowFormer::WindowFormer(WindowFormerOptions options) : walker_(std::move(options)) {}

// Deals samples (in global order) to the ranks in turn and appends this rank's micro-batches, as many as the
// fullest rank's.
void WindowFormer::deal_run(const std::vector<int64_t>& order, WindowPlan& plan) const {
  const WindowFormerOptions& options = walker_.options();
  const int64_t samples = static_cast<int64_t>(order.size());
  const int64_t b = options.micro_batch_samples;
  const int64_t most = share(samples, options.ranks, 0);
  const int64_t mine = share(samples, options.ranks, options.rank);
  const int64_t micro_batches = most / b + (most % b != 0);
  for (int64_t k = 0; k < micro_batches; ++k) {
    MicroBatchPlan micro;
    const int64_t first = std::min(mine, k * b);
    const int64_t rows = std::min(b, mine - first);
    for (int64_t i = first; i < first + rows; ++i)
      micro.samples.push_back(order[i * options.ranks + options.rank]);
    if (options.short_policy == plan::ShortPolicy::pad) micro.padding_rows = b - rows;
    plan.micro.push_back(std::move(micro));
  }
}

WindowPlan WindowFormer::deal(const WindowExtent& extent) const {
  const WindowFormerOptions& options = walker_.options();
  WindowPlan plan;
  std::vector<int64_t> order;
  for (const Run& run : extent.runs) {
    const Permutation permutation(options.size_samples, options.seed, run.epoch, options.order);
    for (int64_t p = run.begin; p < run.end; ++p) {
      const int64_t sample = permutation(p);
      order.push_back(sample);
      if (options.tokens) plan.tokens += options.tokens(sample);
      if (options.positions) plan.positions += options.positions(sample);
    }
    plan.samples += run.samples();
    // A run is one global micro-batch only for windows in micro-batches; the others are dealt as a whole.
    if (options.window.unit == Unit::micro_batches) {
      deal_run(order, plan);
      order.clear();
    }
  }
  if (!order.empty()) deal_run(order, plan);
  plan.micro_batches = static_cast<int64_t>(plan.micro.size());
  plan.tail = extent.tail;
  plan.ends_epoch = extent.ends_epoch;
  plan.continues = extent.continues;
  plan.lost_samples = extent.lost_samples;
  plan.epochs_after = walker_.epochs();
  plan.epoch = extent.runs.empty() ? walker_.cursor().epoch : extent.runs.front().epoch;
  return plan;
}

WindowPlan WindowFormer::next(double ramp_clock) {
  return deal(walker_.next(ramp_clock, std::nullopt));
}

WindowFormer::Bounded WindowFormer::next_until(int64_t epochs, double ramp_clock) {
  const WindowExtent extent = walker_.next(ramp_clock, epochs);
  return {deal(extent), extent.complete};
}

Cursor WindowFormer::cursor() const {
  return walker_.cursor();
}

void WindowFormer::restore(const Cursor& cursor) {
  walker_.restore(cursor);
}

int64_t WindowFormer::lost_samples() const {
  return walker_.cursor().lost_samples;
}

}  // namespace loop::data
