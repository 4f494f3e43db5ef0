#include "compiler/check/normalisation/gradient.h"

#include <algorithm>

namespace loop::check {
namespace {

Monomial ranks(int exponent) {
  return Monomial::of({Symbol::ranks, 0}, exponent);
}

/// A holder's count in a replicated part, summed over the holders: Σ_r N_r = N, anything else is no product.
Monomial sum_over_holders(const Monomial& factor) {
  Monomial held;
  for (const auto& [atom, exponent] : factor.powers()) {
    if (atom.symbol == Symbol::count_rank_after) held *= Monomial::of(atom, exponent);
  }
  const Monomial rest = factor.without(Symbol::count_rank_after);
  if (held.powers().empty()) return rest;
  const auto& [atom, exponent] = *held.powers().begin();
  if (held.powers().size() == 1 && exponent == 1) {
    return rest * Monomial::of({Symbol::count_global, atom.index, atom.written}) * ranks(-1);
  }
  return rest * Monomial::of({Symbol::opaque, 0});
}

}  // namespace

std::vector<Part>& Gradient::own_parts() {
  if (parts_.use_count() > 1) parts_ = std::make_shared<std::vector<Part>>(*parts_);
  return *parts_;
}

bool Gradient::finite() const {
  return !spoiled_by_ &&
         std::none_of(parts_->begin(), parts_->end(), [](const Part& part) { return part.nonfinite; });
}

void Gradient::add(int window, int micro, const LossValue& loss, bool nonfinite) {
  for (size_t count_class = 0; count_class < loss.per_class.size(); ++count_class) {
    Part part;
    part.window = window;
    part.micro = micro;
    part.count_class = static_cast<int>(count_class);
    part.nonfinite = nonfinite;
    part.summands = loss.per_class[count_class];
    own_parts().push_back(std::move(part));
  }
}

void Gradient::drop_before(int window) {
  std::erase_if(own_parts(), [&](const Part& part) { return part.window < window; });
}

void multiply(std::vector<Summand>& summands, const Monomial& factor, const sema::Operation* operation) {
  for (Summand& summand : summands) {
    summand.factor *= factor;
    summand.origins.push_back({operation, factor});
  }
}

void Gradient::multiply(const Monomial& factor, const sema::Operation* operation) {
  const Monomial after = factor.substituted([](Atom atom) {
    if (atom.symbol == Symbol::count_rank) atom.symbol = Symbol::count_rank_after;
    return Monomial::of(atom);
  });
  for (Part& part : own_parts()) check::multiply(part.summands, part.replicated ? after : factor, operation);
}

void Gradient::reduce(plan::ReduceMode mode, const sema::Operation* operation, bool only_new, bool one_rank) {
  for (Part& part : own_parts()) {
    if (part.replicated && only_new) continue;
    Monomial factor;
    if (one_rank) {
      // Nothing changes.
    } else if (part.replicated) {
      for (Summand& summand : part.summands) summand.factor = sum_over_holders(summand.factor);
      if (mode == plan::ReduceMode::sum) factor = ranks(1);
    } else if (mode == plan::ReduceMode::mean) {
      factor = ranks(-1);
    }
    check::multiply(part.summands, factor, operation);
    part.replicated = true;
    ++part.reductions;
  }
}

Monomial to_monomial(const plan::Factor& factor, int scale_reading) {
  using Source = plan::Power::Symbol;
  Monomial result(factor.number);
  for (const plan::Power& power : factor.powers) {
    Atom atom;
    switch (power.symbol) {
      case Source::loss_scale:
        atom = {Symbol::loss_scale, scale_reading};
        break;
      case Source::micro_batches:
        atom = {Symbol::micro_batches, 0};
        break;
      case Source::micro_batches_counted:
        atom = {Symbol::counted, 0};
        break;
      case Source::ranks:
        atom = {Symbol::ranks, 0};
        break;
      case Source::count_global:
        atom = {Symbol::count_global, std::max(power.count_class, 0), true};
        break;
      case Source::count_rank:
        atom = {Symbol::count_rank, std::max(power.count_class, 0), true};
        break;
      case Source::count_micro:
        atom = {Symbol::count_micro, std::max(power.count_class, 0), true};
        break;
    }
    result *= Monomial::of(atom, power.exponent);
  }
  return result;
}

}  // namespace loop::check
