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

void Powers::insert(size_t index, Power power) {
  if (more_.empty() && count_ < few_.size()) {
    std::copy_backward(few_.begin() + index, few_.begin() + count_, few_.begin() + count_ + 1);
    few_[index] = power;
    ++count_;
    return;
  }
  if (more_.empty()) more_.assign(few_.begin(), few_.end());
  more_.insert(more_.begin() + static_cast<std::ptrdiff_t>(index), power);
}

void Powers::erase(size_t index) {
  if (more_.empty()) {
    std::copy(few_.begin() + index + 1, few_.begin() + count_, few_.begin() + index);
    --count_;
    return;
  }
  more_.erase(more_.begin() + static_cast<std::ptrdiff_t>(index));
  if (more_.size() > few_.size()) return;
  std::copy(more_.begin(), more_.end(), few_.begin());
  count_ = more_.size();
  more_.clear();
}

Monomial Monomial::of(Atom atom, int exponent) {
  Monomial result;
  if (exponent != 0) result.powers_.insert(0, {atom, exponent});
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
  if (&other == this) return *this *= Monomial(other);
  number_ *= other.number_;
  size_t at = 0;
  for (const auto& [atom, exponent] : other.powers_) {
    while (at < powers_.size() && powers_.begin()[at].first < atom) ++at;
    if (at == powers_.size() || powers_.begin()[at].first != atom) {
      powers_.insert(at, {atom, exponent});
    } else if ((powers_.begin()[at].second += exponent) == 0) {
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
  if (!(powers_ == other.powers_)) return false;
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
  for (size_t i = result.powers_.size(); i-- > 0;) {
    if (result.powers_.begin()[i].first.symbol == symbol) result.powers_.erase(i);
  }
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
