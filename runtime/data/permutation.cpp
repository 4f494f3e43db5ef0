#include "runtime/data/permutation.h"

#include <bit>

namespace loop::data {
namespace {

// Finaliser of SplitMix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit.
uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

// Halves of fewer bits make a Feistel network visibly non-uniform; walking the cycle costs nothing at such
// sizes.
constexpr int kMinimumHalfBits = 4;

}  // namespace

Permutation::Permutation(int64_t size, uint64_t seed, int64_t epoch, plan::Order order)
    : size_(size), order_(order), half_bits_(kMinimumHalfBits) {
  const int bits = size > 1 ? std::bit_width(static_cast<uint64_t>(size - 1)) : 0;
  if ((bits + 1) / 2 > half_bits_) half_bits_ = (bits + 1) / 2;
  // Seed and epoch are mixed one after the other, so that (seed 0, epoch 1) and (seed 1, epoch 0) have
  // nothing in common.
  uint64_t state = mix(mix(seed) ^ static_cast<uint64_t>(epoch));
  for (uint64_t& key : keys_) key = state = mix(state);
}

uint64_t Permutation::encrypt(uint64_t value) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = value >> half_bits_;
  uint64_t right = value & mask;
  for (uint64_t key : keys_) {
    const uint64_t next = left ^ (mix(right ^ key) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

int64_t Permutation::operator()(int64_t position) const {
  if (order_ == plan::Order::sequential) return position;
  // The network permutes [0, 4^half_bits), at most four times too much (256 for tiny sizes); following the
  // cycle until it comes back into [0, size) permutes that range alone.
  uint64_t value = static_cast<uint64_t>(position);
  do {
    value = encrypt(value);
  } while (value >= static_cast<uint64_t>(size_));
  return static_cast<int64_t>(value);
}

}  // namespace loop::data
