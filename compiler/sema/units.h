// The units a quantity can carry. Units of time convert among themselves, so do units of memory; all others
// stand alone, so that mixing them is an error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace loop::sema {

/// What a quantity measures. `none` is a plain number.
enum class Dim {
  none,
  micro_batches,
  samples,
  positions,
  tokens,
  updates,
  attempts,
  epochs,
  evaluations,
  samples_seen,
  tokens_seen,
  seconds,
  bytes
};

struct Unit {
  std::string_view name;
  Dim dim;
  double factor;  // to the dimension's base: seconds, bytes, one piece
};

/// By spelling; the singular ("1 epoch") is understood too. Null when there is none.
const Unit* find_unit(std::string_view name);
const std::vector<std::string>& unit_names();

/// "updates"; "seconds" and "bytes" for the two with several units.
const char* name(Dim dim);
/// As an example in a message: "10 min", "2 GiB", "100 updates".
std::string example(Dim dim);

/// The clock that counts this dimension, if one does.
std::optional<plan::Clock> clock_of(Dim dim);
Dim dim_of(plan::Clock clock);
/// A clock a schedule or a condition can name, by spelling.
std::optional<plan::Clock> find_clock(std::string_view name);
const std::vector<std::string>& clock_names();

}  // namespace loop::sema
