// The argument `take` of every source: which part of its items is used.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace loop::data {

/// `all`, `first(90%)`, `last(10%)`, `first(1000 samples)`, `last(1000 samples)`.
struct Slice {
  enum class Kind { all, first, last };
  Kind kind = Kind::all;
  double share = 1;     // in (0, 1]
  int64_t samples = 0;  // above 0: so many, instead of a share

  std::string text() const;
};

/// What the items of a file are, for cutting and for messages. Token streams have a sample every `per_sample`
/// items, and the last sample needs `beyond` items more.
struct Items {
  std::filesystem::path file;
  int64_t count = 0;
  std::string unit;  // "images", "characters"
  int64_t per_sample = 1;
  int64_t beyond = 0;
};

struct Bounds {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};

/// The items that are taken. Shares are of the items and round down, so that first(p) and last(1 - p) never
/// overlap. Throws loop::Error (usage) when that is nothing, or when there are fewer samples than asked for.
Bounds take(const Slice& slice, const Items& items);

}  // namespace loop::data
