// NumPy's .npy files (format versions 1, 2 and 3), mapped.
#pragma once

#include <filesystem>
#include <vector>

#include "runtime/data/array_source.h"

namespace loop::data {

struct NpyArray {
  std::vector<int64_t> shape;
  Numbers numbers;
  int64_t rows() const { return shape.front(); }
};

/// At least one dimension; little-endian f4 f8 i1 i2 i4 i8 u1 u2 in C order. Throws loop::Error (usage) for
/// anything else, naming what it is, and for files that are cut off.
NpyArray read_npy(const std::filesystem::path& file);

}  // namespace loop::data
