#include "runtime/gradients/passes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "loop/error.h"
#include "runtime/gradients/chunks.h"

namespace loop::gradients {
namespace {

// Independent partial sums within a chunk, which the compiler keeps in vector registers.
constexpr int64_t kLanes = 8;
struct Chunk {
  size_t piece = 0;
  int64_t offset = 0;  // from the start of the piece's memory
  int64_t size = 0;
};

std::vector<Chunk> cut(const std::vector<Piece>& pieces) {
  std::vector<Chunk> chunks;
  for (size_t p = 0; p < pieces.size(); ++p)
    for (int64_t start = 0; start < pieces[p].size; start += kChunkElements)
      chunks.push_back({p, pieces[p].offset + start, std::min(kChunkElements, pieces[p].size - start)});
  return chunks;
}

template <class Visit>
void with_elements(const Piece& piece, Visit visit) {
  if (piece.memory.scalar_type() == at::kFloat) {
    visit(piece.memory.data_ptr<float>());
  } else if (piece.memory.scalar_type() == at::kDouble) {
    visit(piece.memory.data_ptr<double>());
  } else {
    throw Error(ErrorKind::internal, "A gradient is neither fp32 nor fp64");
  }
}

/// One number per chunk.
template <class T, class Of>
std::vector<T> chunk_values(const std::vector<Piece>& pieces, Of of) {
  const std::vector<Chunk> chunks = cut(pieces);
  std::vector<T> values(chunks.size());
  int64_t elements = 0;
  for (const Piece& piece : pieces) elements += piece.size;
  for_each_chunk(chunks.size(), elements, [&](size_t i) {
    with_elements(pieces[chunks[i].piece],
                  [&](auto* memory) { values[i] = of(memory + chunks[i].offset, chunks[i].size); });
  });
  return values;
}

template <class T>
double sum_of_squares(const T* x, int64_t size, double scale) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const double value = static_cast<double>(x[i + lane]) * scale;
      lanes[lane] += value * value;
    }
  for (; i < size; ++i) {
    const double value = static_cast<double>(x[i]) * scale;
    lanes[i % kLanes] += value * value;
  }
  return tree_sum(lanes, kLanes);
}

double squares(const std::vector<Piece>& pieces, double scale) {
  const auto values = chunk_values<double>(
      pieces, [scale](const auto* x, int64_t size) { return sum_of_squares(x, size, scale); });
  return tree_sum(values.data(), values.size());
}

/// Largest magnitude; NaN when there is one.
double largest(const std::vector<Piece>& pieces) {
  const auto values = chunk_values<double>(pieces, [](const auto* x, int64_t size) {
    double most = 0;
    for (int64_t i = 0; i < size; ++i) {
      const double magnitude = std::abs(static_cast<double>(x[i]));
      if (!(magnitude <= most)) most = std::isnan(most) ? most : magnitude;
    }
    return most;
  });
  double most = 0;
  for (const double value : values)
    if (!(value <= most)) most = std::isnan(most) ? most : value;
  return most;
}

}  // namespace

double euclidean_norm(const std::vector<Piece>& pieces) {
  const double sum = squares(pieces, 1);
  // The usual case: far from where squares overflow or lose digits.
  if (sum > 1e-280 && sum < 1e300) return std::sqrt(sum);
  const double most = largest(pieces);
  if (most == 0 || !std::isfinite(most)) return most;
  // Scaling by a power of two rounds nothing.
  const int exponent = std::clamp(std::ilogb(most), -1000, 1000);
  return std::ldexp(std::sqrt(squares(pieces, std::ldexp(1.0, -exponent))), exponent);
}

size_t first_nonfinite_piece(const std::vector<Piece>& pieces) {
  const auto bad = chunk_values<char>(pieces, [](const auto* x, int64_t size) -> char {
    // x − x is 0 for a finite x and NaN otherwise, and NaN stays in a sum. Several sums, so that no addition
    // waits for the one before it.
    using T = std::remove_cvref_t<decltype(*x)>;
    T lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= size; i += kLanes)
      for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += x[i + lane] - x[i + lane];
    for (; i < size; ++i) lanes[0] += x[i] - x[i];
    T poison = 0;
    for (const T lane : lanes) poison += lane;
    return poison != 0;
  });
  const std::vector<Chunk> chunks = cut(pieces);
  for (size_t i = 0; i < chunks.size(); ++i)
    if (bad[i]) return chunks[i].piece;
  return pieces.size();
}

int64_t clamp_finite(const std::vector<Piece>& pieces, double limit) {
  const auto changed = chunk_values<int64_t>(pieces, [limit](auto* x, int64_t size) {
    using T = std::remove_reference_t<decltype(*x)>;
    const T bound = static_cast<T>(limit);
    int64_t count = 0;
    for (int64_t i = 0; i < size; ++i) {
      if (std::isfinite(x[i]) && std::abs(x[i]) > bound) {
        x[i] = std::copysign(bound, x[i]);
        ++count;
      }
    }
    return count;
  });
  int64_t total = 0;
  for (const int64_t count : changed) total += count;
  return total;
}

}  // namespace loop::gradients
