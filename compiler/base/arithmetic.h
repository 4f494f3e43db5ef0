// Whole-number arithmetic shared by the compiler's folders.
#pragma once

#include <cstdint>

namespace loop::base {

/// ⌈a / b⌉ for a ≥ 0, b > 0: how many pieces of b it takes to hold a.
constexpr int64_t divided_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace loop::base
