// Passes over gradient memory that read or change it element by element, on several threads, with a result
// that does not depend on how many: memory is cut into chunks of a fixed size and their results are combined
// in a fixed tree.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace loop::gradients {

/// A contiguous piece of a CPU tensor in fp32 or fp64: elements [offset, offset + size) of `memory`.
struct Piece {
  at::Tensor memory;
  int64_t offset = 0;
  int64_t size = 0;
};

/// √Σx² over all pieces together, accumulated in FP64. NaN when an element is NaN, infinite when one is
/// infinite; finite elements whose squares leave the range of FP64 are handled exactly (scaled by the
/// largest).
double euclidean_norm(const std::vector<Piece>& pieces);

/// Index of the first piece with an element that is not finite, or the number of pieces.
size_t first_nonfinite_piece(const std::vector<Piece>& pieces);

/// Clamps finite elements to [-limit, limit]; returns how many changed.
int64_t clamp_finite(const std::vector<Piece>& pieces, double limit);

}  // namespace loop::gradients
