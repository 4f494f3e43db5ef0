// Factors as data: a number times powers of symbols. Everything the normalisation algebra says is said in
// these.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace loop::check {

enum class Symbol {
  loss_scale,        // S; index: which reading of it (it changes at every update_scale)
  micro_batches,     // K as configured
  counted,           // this window's K, empty micro-batches included
  ranks,             // R
  count_global,      // N_t; index: count class
  count_rank,        // N_r of the rank that the contribution comes from
  count_rank_after,  // N_r of the rank that holds it, multiplied on after a reduction: ranks differ
  count_micro,       // n_rk
  filled,       // M, micro-batches of all ranks that have any units; index: count class, -1 without a mask
  filled_rank,  // the same of one rank
  opaque        // a sum that is no product
};

struct Atom {
  Symbol symbol = Symbol::ranks;
  int index = 0;
  /// Counts only: read in a factor that is written out, where a unit that does not count (`per 64`) has none.
  bool written = false;
  friend auto operator<=>(const Atom&, const Atom&) = default;
};

/// Powers ordered by atom. A few are held in place: factors are copied a great many times.
class Powers {
 public:
  using Power = std::pair<Atom, int>;
  const Power* begin() const { return more_.empty() ? few_.data() : more_.data(); }
  const Power* end() const { return begin() + size(); }
  Power* begin() { return more_.empty() ? few_.data() : more_.data(); }
  Power* end() { return begin() + size(); }
  size_t size() const { return more_.empty() ? count_ : more_.size(); }
  bool empty() const { return size() == 0; }
  void insert(size_t index, Power power);
  void erase(size_t index);
  friend bool operator==(const Powers& a, const Powers& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::array<Power, 5> few_;
  size_t count_ = 0;
  std::vector<Power> more_;  // all of them, once they are too many
};

class Monomial {
 public:
  Monomial() = default;
  explicit Monomial(double number) : number_(number) {}
  static Monomial of(Atom atom, int exponent = 1);

  double number() const { return number_; }
  /// Ordered by atom, no exponent is 0.
  const Powers& powers() const { return powers_; }
  int exponent(Atom atom) const;
  /// Sum of the exponents of every atom of this symbol.
  int total_exponent(Symbol symbol) const;
  bool contains(Symbol symbol) const;

  Monomial& operator*=(const Monomial& other);
  friend Monomial operator*(Monomial a, const Monomial& b) { return a *= b; }
  Monomial inverse() const;
  Monomial to_power(int exponent) const;
  /// Same powers, numbers ignored.
  bool same_powers(const Monomial& other) const { return powers_ == other.powers_; }
  /// Equal up to rounding of the number.
  bool equals(const Monomial& other) const;
  bool is_one() const { return equals(Monomial()); }
  void add_number_of(const Monomial& other) { number_ += other.number_; }

  /// Every atom replaced by what `replace` gives for it (itself: `Monomial::of(atom)`).
  Monomial substituted(const std::function<Monomial(Atom)>& replace) const;
  /// Without the powers of one symbol.
  Monomial without(Symbol symbol) const;

 private:
  double number_ = 1;
  Powers powers_;
};

/// "S·R / (N·K)"; `name` spells an atom.
std::string to_text(const Monomial& monomial, const std::function<std::string(Atom)>& name);

}  // namespace loop::check
