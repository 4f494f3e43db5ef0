#include "compiler/check/normalisation/monomial.h"

#include <algorithm>
#include <cmath>

#include "runtime/plan/expression.h"

namespace loop::check {
namespace {

std::string number_text(double value) {
  return plan::to_text(plan::Expression::constant(value));
}

}  // namespace

Monomial Monomial::of(Atom atom, int exponent) {
  Monomial result;
  if (exponent != 0) result.powers_.emplace_back(atom, exponent);
  return result;
}

int Monomial::exponent(Atom atom) const {
  for (const auto& [known, exponent] : powers_) {
    if (known == atom) return exponent;
  }
  return 0;
}

int Monomial::total_exponent(Symbol symbol) const {
  int total = 0;
  for (const auto& [atom, exponent] : powers_) {
    if (atom.symbol == symbol) total += exponent;
  }
  return total;
}

bool Monomial::contains(Symbol symbol) const {
  for (const auto& [atom, exponent] : powers_) {
    if (atom.symbol == symbol) return true;
  }
  return false;
}

Monomial& Monomial::operator*=(const Monomial& other) {
  number_ *= other.number_;
  for (const auto& [atom, exponent] : other.powers_) {
    const auto at =
        std::lower_bound(powers_.begin(), powers_.end(), atom,
                         [](const auto& power, const Atom& wanted) { return power.first < wanted; });
    if (at == powers_.end() || at->first != atom) {
      powers_.insert(at, {atom, exponent});
    } else if ((at->second += exponent) == 0) {
      powers_.erase(at);
    }
  }
  return *this;
}

Monomial Monomial::inverse() const {
  return to_power(-1);
}

Monomial Monomial::to_power(int exponent) const {
  if (exponent == 0) return Monomial();
  Monomial result = *this;
  if (number_ != 1) result.number_ = std::pow(number_, exponent);
  for (auto& [atom, power] : result.powers_) power *= exponent;
  return result;
}

bool Monomial::equals(const Monomial& other) const {
  if (powers_ != other.powers_) return false;
  // Literal factors such as 1/3 are rounded once or twice on their way here.
  return std::abs(number_ - other.number_) <= 1e-9 * std::max(std::abs(number_), std::abs(other.number_));
}

Monomial Monomial::substituted(const std::function<Monomial(Atom)>& replace) const {
  Monomial result(number_);
  for (const auto& [atom, exponent] : powers_) {
    const Monomial replaced = replace(atom);
    result *= exponent == 1 ? replaced : replaced.to_power(exponent);
  }
  return result;
}

Monomial Monomial::without(Symbol symbol) const {
  Monomial result = *this;
  std::erase_if(result.powers_, [&](const auto& power) { return power.first.symbol == symbol; });
  return result;
}

std::string to_text(const Monomial& monomial, const std::function<std::string(Atom)>& name) {
  std::vector<std::string> above, below;
  const auto power = [&](Atom atom, int exponent) {
    return name(atom) + (exponent == 1 ? "" : "^" + std::to_string(exponent));
  };
  const double number = monomial.number();
  const double reciprocal = number == 0 ? 0 : 1 / number;
  // 1/12 reads better than 0.08333333333333333.
  if (std::abs(number) < 1 && number != 0 &&
      std::abs(reciprocal - std::round(reciprocal)) < 1e-9 * std::abs(reciprocal)) {
    below.push_back(number_text(std::round(reciprocal)));
  } else if (number != 1) {
    above.push_back(number_text(number));
  }
  for (const auto& [atom, exponent] : monomial.powers()) {
    if (exponent > 0) above.push_back(power(atom, exponent));
    if (exponent < 0) below.push_back(power(atom, -exponent));
  }
  const auto product = [](const std::vector<std::string>& factors) {
    std::string text;
    for (const std::string& factor : factors) text += (text.empty() ? "" : "·") + factor;
    return text;
  };
  std::string text = above.empty() ? "1" : product(above);
  if (below.size() == 1) text += "/" + below.front();
  if (below.size() > 1) text += "/(" + product(below) + ")";
  return text;
}

}  // namespace loop::check
