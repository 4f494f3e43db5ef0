// K_w = 1:         a contribution's n_rk = N_r.
// R = 1:           N_r = N.
// equal counts n:  a micro-batch has n units or none, so N = n·M with one M for all such classes, the number
// of
//                  micro-batches that have any; N_r = K·n and N = R·K·n in full windows.
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
      if (facts_.micro_batches) return Monomial(static_cast<double>(*facts_.micro_batches));
      // In a full window the configured number is the window's.
      if (full() && window_.micro_batches > 0) return Monomial(window_.micro_batches);
      return Monomial::of(atom);
    case Symbol::counted:
      if (one_micro_batch()) return Monomial();
      if (full() && facts_.micro_window && (facts_.micro_batches || window_.micro_batches == 0))
        return replace({Symbol::micro_batches, 0});
      if (window_.micro_batches > 0) return Monomial(window_.micro_batches);
      return Monomial::of(atom);
    case Symbol::filled:
    case Symbol::filled_rank:
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
  const bool whole = equal || full_or_empty(count_class);
  if (atom.symbol == Symbol::count_micro) {
    if (whole) return number_of(atom.index);
    // With one micro-batch it is the rank's count.
    return one_micro_batch() ? replace_count({Symbol::count_rank, atom.index}) : Monomial::of(atom);
  }
  if (atom.symbol == Symbol::count_global) {
    if (equal) return replace({Symbol::ranks, 0}) * replace({Symbol::counted, 0}) * number_of(atom.index);
    if (whole && one_micro_batch() && facts_.one_rank()) return number_of(atom.index);
    // Classes without a mask have their units in the same micro-batches; a mask of its own may leave others.
    if (whole)
      return number_of(atom.index) * Monomial::of({Symbol::filled, count_class.equal ? -1 : atom.index});
    if (count_class.global && full()) return Monomial(*count_class.global);
    return Monomial::of(atom);
  }
  // N_r, of the contribution's rank or of the holder's.
  if (equal) return replace({Symbol::counted, 0}) * number_of(atom.index);
  if (facts_.one_rank() && !count_class.at_least) return replace_count({Symbol::count_global, atom.index});
  if (whole && atom.symbol == Symbol::count_rank) {
    if (one_micro_batch()) return number_of(atom.index);
    return number_of(atom.index) * Monomial::of({Symbol::filled_rank, count_class.equal ? -1 : atom.index});
  }
  return Monomial::of(atom);
}

/// n of a micro-batch that has any units.
Monomial Identities::number_of(int count_class) const {
  const ClassFacts& facts = facts_.classes.at(count_class);
  return facts.per_micro ? Monomial(*facts.per_micro) : Monomial::of({Symbol::count_micro, count_class});
}

bool Identities::full_or_empty(const ClassFacts& count_class) const {
  if (count_class.at_least) return false;
  // `per micro_batch` counts one for each.
  if (count_class.per_micro == 1) return true;
  return count_class.equal && !facts_.short_micro_batches && !facts_.uneven_full_windows;
}

}  // namespace loop::check
