#include "compiler/check/normalisation/compare.h"

#include <algorithm>

namespace loop::check {
namespace {

void insert_once(std::vector<int>& values, int value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

/// All summands of one micro-batch and class in normal form, like ones added.
struct Total {
  std::vector<Monomial> products;
  std::optional<Summand> first;
  int reductions = 0;
};

Total total_of(const Gradient& gradient, int window, int micro, int count_class,
               const Identities& identities) {
  Total total;
  for (const Part& part : gradient.parts()) {
    if (part.window != window || part.micro != micro || part.count_class != count_class) continue;
    total.reductions = std::max(total.reductions, part.reductions);
    for (const Summand& summand : part.summands) {
      if (!total.first) total.first = summand;
      const Monomial product = identities.normal_form(summand.factor);
      const auto like = std::find_if(total.products.begin(), total.products.end(),
                                     [&](const Monomial& other) { return other.same_powers(product); });
      if (like == total.products.end()) {
        total.products.push_back(product);
      } else {
        like->add_number_of(product);
      }
    }
  }
  return total;
}

}  // namespace

Comparison compare(const Gradient& gradient, int window, int micro_batches, int optional_micro, bool one_rank,
                   size_t classes, const Identities& identities) {
  Comparison result;
  result.empty = true;
  for (const Part& part : gradient.parts()) {
    if (part.window < window) {
      insert_once(result.stale_windows, part.window);
      continue;
    }
    result.empty = false;
    if (part.micro == optional_micro) continue;
    if (!part.replicated && !one_rank) insert_once(result.local, part.micro);
  }
  if (micro_batches == 1 && optional_micro == 1) result.empty = false;
  if (result.empty) return result;

  for (int micro = 1; micro <= micro_batches; ++micro) {
    if (micro == optional_micro) continue;
    for (size_t count_class = 0; count_class < classes; ++count_class) {
      const int index = static_cast<int>(count_class);
      const Total total = total_of(gradient, window, micro, index, identities);
      if (!total.first) {
        insert_once(result.missing, micro);
        continue;
      }
      const Monomial right = identities.normal_form(Monomial::of({Symbol::count_global, index}, -1));
      const Monomial quotient = total.products.front() * right.inverse();
      FactorMismatch mismatch;
      mismatch.micro = micro;
      mismatch.count_class = index;
      mismatch.found = *total.first;
      mismatch.sum = total.products.size() > 1;
      mismatch.quotient = quotient.without(Symbol::loss_scale);
      for (const auto& [atom, exponent] : quotient.powers()) {
        if (atom.symbol == Symbol::loss_scale) mismatch.scale *= Monomial::of(atom, exponent);
      }
      mismatch.reductions = total.reductions;
      if (!mismatch.scale.is_one() && !result.scale) result.scale = mismatch;
      if ((mismatch.sum || !mismatch.quotient.is_one()) && !result.factor) result.factor = mismatch;
    }
  }
  return result;
}

}  // namespace loop::check
