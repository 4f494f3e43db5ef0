#include "compiler/check/normalisation/monomial.h"

#include <cmath>
#include <vector>

#include "runtime/plan/expression.h"

namespace loop::check {
namespace {

std::string number_text(double value) {
  return plan::to_text(plan::Expression::constant(value));
}

}  // namespace

Monomial Monomial::of(Atom atom, int exponent) {
  Monomial result;
  if (exponent != 0) result.powers_[atom] = exponent;
  return result;
}

int Monomial::exponent(Atom atom) const {
  const auto found = powers_.find(atom);
  return found == powers_.end() ? 0 : found->second;
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
    int& power = powers_[atom];
    power += exponent;
    if (power == 0) powers_.erase(atom);
  }
  return *this;
}

Monomial Monomial::inverse() const {
  return to_power(-1);
}

Monomial Monomial::to_power(int exponent) const {
  Monomial result(std::pow(number_, exponent));
  if (exponent == 0) return Monomial();
  for (const auto& [atom, power] : powers_) result.powers_[atom] = power * exponent;
  return result;
}

bool Monomial::equals(const Monomial& other) const {
  if (powers_ != other.powers_) return false;
  // Literal factors such as 1/3 are rounded once or twice on their way here.
  return std::abs(number_ - other.number_) <= 1e-9 * std::max(std::abs(number_), std::abs(other.number_));
}

Monomial Monomial::substituted(const std::function<Monomial(Atom)>& replace) const {
  Monomial result(number_);
  for (const auto& [atom, exponent] : powers_) result *= replace(atom).to_power(exponent);
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
