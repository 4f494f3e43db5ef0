// What all sources of arrays share: every sample has inputs of one shape, and a class or some values as its
// target.
#pragma once

#include <memory>
#include <variant>

#include "loop/source.h"

namespace loop::data {

/// Numbers in memory, in the type the file has them in; `keep_alive` owns them.
struct Numbers {
  enum class Type { u8, i8, u16, i16, i32, i64, f32, f64 };
  Type type = Type::f64;
  const void* data = nullptr;
  int64_t count = 0;
  std::shared_ptr<const void> keep_alive;

  static Numbers own(std::vector<double> values);
  static Numbers own(std::string bytes, size_t offset);  // unsigned bytes from `offset` on
  bool integral() const { return type != Type::f32 && type != Type::f64; }
  /// Copies [begin, begin + n) to `out`, as (x - shift) / divisor.
  void copy(int64_t begin, int64_t n, float* out, double divisor = 1, double shift = 0) const;
  void copy(int64_t begin, int64_t n, double* out, double divisor = 1, double shift = 0) const;
  void copy(int64_t begin, int64_t n, int64_t* out) const;
  /// Index of the first number that is NaN or infinite, or -1.
  int64_t first_not_finite() const;
};

struct ArrayData {
  Numbers inputs;      // size · product(info.input_shape)
  double divisor = 1;  // an input is (number - shift) / divisor
  double shift = 0;
  std::vector<int64_t> classes;  // targets: classes, or …
  Numbers values;                // … size · info.outputs numbers
  int64_t begin = 0;             // the part that is taken
  int64_t end = 0;
  torch::Dtype dtype = torch::kFloat32;  // of inputs and values in a batch
  bool token_ids = false;                // inputs are ids, int64 in a batch, and each is a position
  DataInfo info;
};

/// Batches: inputs [b, …input_shape] in the run's dtype, or [b, context] int64 for token ids; targets [b]
/// int64 classes (-100 in padding rows) or [b, outputs] in the run's dtype (0 in padding rows).
std::unique_ptr<Source> make_array_source(ArrayData data);

/// Classes the data has: those of the training source if there is one. Throws loop::Error (findings) when a
/// class of `classes` is not one of them; `what` names the file.
int64_t number_of_classes(const std::vector<int64_t>& classes, const SourceContext& context,
                          const std::string& what);

}  // namespace loop::data
