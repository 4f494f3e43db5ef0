// Windows formed the slow and plain way, from the definitions in the language reference: lists of samples, no
// cursor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/data/window_former.h"

namespace loop::data::test {

struct ReferenceWindow {
  std::vector<std::vector<int64_t>> global_micro_batches;  // windows in micro-batches
  std::vector<int64_t> members;                            // in global order
  bool tail = false;
  bool complete = true;
};

inline std::vector<int64_t> epoch_order(const WindowFormerOptions& o, int64_t epoch) {
  const Permutation permutation(o.size_samples, o.seed, epoch, o.order);
  std::vector<int64_t> order(o.size_samples);
  for (int64_t i = 0; i < o.size_samples; ++i) order[i] = permutation(i);
  return order;
}

/// All windows of `epochs` epochs; an unfinished last one (carry) has `complete` false. No ramp.
inline std::vector<ReferenceWindow> reference_windows(const WindowFormerOptions& o, int64_t epochs) {
  using Unit = plan::WindowSize::Unit;
  std::vector<ReferenceWindow> windows;
  ReferenceWindow open;
  int64_t reached = 0;
  const auto close = [&](bool tail, bool complete) {
    open.tail = tail;
    open.complete = complete;
    windows.push_back(open);
    open = {};
    reached = 0;
  };
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    const std::vector<int64_t> order = epoch_order(o, epoch);
    std::vector<std::vector<int64_t>> pieces;  // what is added to a window at once
    const size_t piece = o.window.unit == Unit::micro_batches ? o.micro_batch_samples * o.ranks : 1;
    for (size_t begin = 0; begin < order.size(); begin += piece) {
      pieces.emplace_back(order.begin() + begin, order.begin() + std::min(order.size(), begin + piece));
    }
    if (o.short_policy == plan::ShortPolicy::drop && pieces.back().size() < piece) pieces.pop_back();
    for (const auto& samples : pieces) {
      open.members.insert(open.members.end(), samples.begin(), samples.end());
      if (o.window.unit == Unit::micro_batches) open.global_micro_batches.push_back(samples);
      if (o.window.unit == Unit::micro_batches || o.window.unit == Unit::samples) ++reached;
      if (o.window.unit == Unit::tokens) reached += o.tokens(samples[0]);
      if (o.window.unit == Unit::positions) reached += o.positions(samples[0]);
      if (reached >= o.window.value) close(false, true);
    }
    if (open.members.empty()) continue;
    if (o.tail == plan::Tail::flush) close(true, true);
    if (o.tail == plan::Tail::drop) open = {}, reached = 0;
  }
  if (!open.members.empty()) close(false, false);
  return windows;
}

}  // namespace loop::data::test
