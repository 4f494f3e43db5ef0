#include "runtime/data/slice.h"

#include <algorithm>
#include <cmath>

#include "runtime/data/file.h"

namespace loop::data {
namespace {

// Percentages such as 29% are not exact in binary: 0.29 · 100 must give 29.
int64_t share_of(double share, int64_t items) {
  const double exact = share * static_cast<double>(items);
  return std::min(items, static_cast<int64_t>(std::floor(exact + exact * 1e-15 + 1e-9)));
}

std::string percent(double share) {
  std::string text = std::to_string(share * 100);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + "%";
}

}  // namespace

std::string Slice::text() const {
  if (kind == Kind::all) return "all";
  return (kind == Kind::first ? "first(" : "last(") +
         (samples > 0 ? std::to_string(samples) + " samples" : percent(share)) + ")";
}

Bounds take(const Slice& slice, const Items& items) {
  const std::string found = std::to_string(items.count) + " " + items.unit;
  int64_t taken = items.count;
  if (slice.kind != Slice::Kind::all && slice.samples > 0) {
    const int64_t available = (items.count - items.beyond) / items.per_sample;
    if (slice.samples > available) {
      throw file_error(items.file,
                       "take: " + slice.text() + ", but " + found + " are only " +
                           std::to_string(std::max<int64_t>(available, 0)) + " samples",
                       "take fewer, or use more data");
    }
    taken = slice.samples * items.per_sample + items.beyond;
  } else if (slice.kind != Slice::Kind::all) {
    taken = share_of(slice.share, items.count);
  }
  if (taken < items.per_sample + items.beyond) {
    std::string needed = taken == 0 ? "leaves nothing to read" : "is " + std::to_string(taken);
    if (items.beyond > 0) {
      needed += ": a sequence of " + std::to_string(items.per_sample) + " needs " +
                std::to_string(items.per_sample + items.beyond);
    }
    throw file_error(items.file, "take: " + slice.text() + " of " + found + " " + needed,
                     items.beyond > 0 ? "take a larger part, use more data, or a smaller `length`"
                                      : "take a larger part, or use more data");
  }
  return slice.kind == Slice::Kind::last ? Bounds{items.count - taken, items.count} : Bounds{0, taken};
}

}  // namespace loop::data
