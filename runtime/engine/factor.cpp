#include "runtime/engine/factor.h"

#include <algorithm>
#include <cmath>

#include "loop/error.h"

namespace loop::engine {

namespace {

using Symbol = plan::Power::Symbol;

double value_of(const plan::Power& power, const FactorValues& values, const Objective& objective) {
  const auto count_class = static_cast<size_t>(power.count_class);
  const bool is_count = power.symbol == Symbol::count_global || power.symbol == Symbol::count_rank ||
                        power.symbol == Symbol::count_micro;
  if (is_count && (power.count_class < 0 || count_class >= objective.classes().size())) {
    throw Error(ErrorKind::internal,
                "a factor reads a count of " + power.unit + ", which no loss term counts");
  }
  switch (power.symbol) {
    case Symbol::loss_scale:
      return values.loss_scale;
    case Symbol::micro_batches:
      return static_cast<double>(values.micro_batches);
    case Symbol::micro_batches_counted:
      return static_cast<double>(values.micro_batches_counted);
    case Symbol::ranks:
      return static_cast<double>(values.ranks);
    case Symbol::count_global:
      return objective.divisor(count_class, *values.window);
    case Symbol::count_rank:
      return (*values.rank)[count_class];
    case Symbol::count_micro:
      if (!values.micro)
        throw Error(ErrorKind::internal, power.unit + ".micro is read outside a micro-batch");
      return (*values.micro)[count_class];
  }
  throw Error(ErrorKind::internal, "a factor with an unknown symbol");
}

}  // namespace

double evaluate(const plan::Factor& factor, const FactorValues& values, const Objective& objective) {
  double result = factor.number;
  for (const plan::Power& power : factor.powers) {
    const double value = value_of(power, values, objective);
    if (value == 0 && power.exponent < 0) {
      throw Error(ErrorKind::training, "the factor " + plan::to_text(factor) + " divides by a count of 0",
                  "divide by the window's count instead (tokens.global, or `normalize`): a micro-batch "
                  "without counted units "
                  "then contributes zero");
    }
    result *= std::pow(value, power.exponent);
  }
  return result;
}

}  // namespace loop::engine
