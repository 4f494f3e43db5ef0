// Work over arrays, cut into chunks of a fixed size: what a chunk gives does not depend on the number of
// threads, and what all give together is combined in a fixed order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace loop::gradients {

inline constexpr int64_t kChunkElements = 16384;

/// Runs `work(i)` for every i below `count`, on several threads when `elements`, the whole work, is worth it.
void for_each_chunk(size_t count, int64_t elements, const std::function<void(size_t)>& work);

/// Runs `work(begin, end)` for the chunks of elements [begin, end).
void for_each_range(int64_t begin, int64_t end, const std::function<void(int64_t, int64_t)>& work);

/// Pairwise sum: error grows with the logarithm of the number of values, and the order is fixed.
double tree_sum(const double* values, size_t count);

}  // namespace loop::gradients
