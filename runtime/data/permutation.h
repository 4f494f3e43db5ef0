// The order in which an epoch visits its samples.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/plan/plan.h"

namespace loop::data {

/// The order of one epoch: position -> sample, a seeded permutation computed in O(1) memory and time (a
/// Feistel network with cycle walking), so that a cursor (epoch, position) is all that has to be saved. Equal
/// seed and epoch give equal orders on every machine; different seeds or epochs give unrelated ones.
class Permutation {
 public:
  Permutation(int64_t size, uint64_t seed, int64_t epoch, plan::Order order);
  /// `position` in [0, size).
  int64_t operator()(int64_t position) const;
  int64_t size() const { return size_; }

 private:
  static constexpr int kRounds = 8;
  uint64_t encrypt(uint64_t value) const;

  int64_t size_;
  plan::Order order_;
  int half_bits_;
  std::array<uint64_t, kRounds> keys_;
};

}  // namespace loop::data
