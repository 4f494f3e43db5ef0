// What counts are known to be equal to in one kind of window, so that two factors that look different can be
// seen to be the same.
#pragma once

#include "compiler/check/normalisation/monomial.h"
#include "compiler/check/typestate/facts.h"

namespace loop::check {

/// The window in which a factor is judged.
struct WindowAlgebra {
  bool tail = false;        // a short window at an epoch's end
  bool optimistic = false;  // only full windows of full micro-batches: what a user has in mind who writes 1/K
  int micro_batches = 0;    // this window's number, where it is exact; 0: any
};

class Identities {
 public:
  Identities(const Facts& facts, WindowAlgebra window) : facts_(facts), window_(window) {}
  /// Rewrites to the one form in which equal factors are identical.
  Monomial normal_form(const Monomial& monomial) const;

 private:
  Monomial replace(Atom atom) const;
  Monomial replace_count(Atom atom) const;
  Monomial number_of(int count_class) const;
  bool equal_counts(const ClassFacts& count_class) const;
  bool full_or_empty(const ClassFacts& count_class) const;
  bool one_micro_batch() const { return facts_.always_one || window_.micro_batches == 1; }
  bool full() const { return !window_.tail; }

  const Facts& facts_;
  WindowAlgebra window_;
};

}  // namespace loop::check
