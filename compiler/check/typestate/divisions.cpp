#include "compiler/check/typestate/divisions.h"

#include <algorithm>

namespace loop::check {
namespace {

using Read = plan::Power::Symbol;

bool can_be_zero(const plan::Power& power, const Facts& facts) {
  const ClassFacts& count_class = facts.classes.at(std::max(power.count_class, 0));
  if (count_class.constant) return power.symbol != Read::count_global;
  // In a window in which another class has units, this one may have none.
  const bool in_window = facts.classes.size() > 1 && !count_class.never_empty;
  if (power.symbol == Read::count_global) return in_window;
  if (facts.one_rank() && (power.symbol == Read::count_rank || facts.always_one)) return in_window;
  // A rank can run empty micro-batches while others have full ones; alone, it runs none.
  const bool runs_empty_ones = (facts.uneven_full_windows || facts.short_windows) && !facts.one_rank();
  return !count_class.never_empty || runs_empty_ones;
}

}  // namespace

const plan::Power* division_by_empty_count(const plan::Factor& factor, const Facts& facts) {
  for (const plan::Power& power : factor.powers) {
    const bool count = power.symbol == Read::count_micro || power.symbol == Read::count_rank ||
                       power.symbol == Read::count_global;
    if (count && power.exponent < 0 && can_be_zero(power, facts)) return &power;
  }
  return nullptr;
}

}  // namespace loop::check
