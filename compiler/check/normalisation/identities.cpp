// K = 1:           n_rk = N_r.
// R = 1:           N_r = N.
// equal counts n:  N_r = K·n and N = R·K·n, in full windows only.
#include "compiler/check/normalisation/identities.h"

namespace loop::check {

Monomial Identities::normal_form(const Monomial& monomial) const {
  return monomial.substituted([this](Atom atom) { return replace(atom); });
}

bool Identities::equal_counts(const ClassFacts& count_class) const {
  if (!count_class.equal || count_class.at_least || facts_.uneven_full_windows) return false;
  if (window_.optimistic) return true;
  if (facts_.short_micro_batches) return false;
  // In a short window the ranks have different numbers of micro-batches.
  return full() || facts_.one_rank();
}

Monomial Identities::replace(Atom atom) const {
  switch (atom.symbol) {
    case Symbol::loss_scale:
      return facts_.fp16 ? Monomial::of(atom) : Monomial();
    case Symbol::ranks:
      return facts_.ranks ? Monomial(static_cast<double>(*facts_.ranks)) : Monomial::of(atom);
    case Symbol::micro_batches:
      return facts_.micro_batches ? Monomial(static_cast<double>(*facts_.micro_batches)) : Monomial::of(atom);
    case Symbol::counted:
      if (facts_.always_one) return Monomial();
      if (full() && facts_.micro_window) return replace({Symbol::micro_batches, 0});
      return Monomial::of(atom);
    case Symbol::count_global:
    case Symbol::count_rank:
    case Symbol::count_rank_after:
    case Symbol::count_micro:
      return replace_count(atom);
    case Symbol::opaque:
      return Monomial::of(atom);
  }
  return Monomial::of(atom);
}

Monomial Identities::replace_count(Atom atom) const {
  const ClassFacts& count_class = facts_.classes.at(atom.index);
  if (count_class.constant) {
    // What a unit that does not count has to read in a factor is no count; it stays as it is and is never
    // right.
    return atom.symbol == Symbol::count_global ? Monomial(*count_class.constant) : Monomial::of(atom);
  }
  atom.written = false;
  const bool equal = equal_counts(count_class);
  if (atom.symbol == Symbol::count_global) {
    if (equal) return replace({Symbol::ranks, 0}) * replace_count({Symbol::count_rank, atom.index});
    if (count_class.global && full()) return Monomial(*count_class.global);
    return Monomial::of(atom);
  }
  if (atom.symbol == Symbol::count_micro) {
    if (count_class.per_micro && (equal || *count_class.per_micro == 1))
      return Monomial(*count_class.per_micro);
    if (facts_.always_one && !equal) return replace_count({Symbol::count_rank, atom.index});
    return Monomial::of(atom);
  }
  // N_r, of the contribution's rank or of the holder's.
  if (equal) return replace({Symbol::counted, 0}) * replace_count({Symbol::count_micro, atom.index});
  if (facts_.one_rank() && !count_class.at_least) return replace_count({Symbol::count_global, atom.index});
  return Monomial::of(atom);
}

}  // namespace loop::check
