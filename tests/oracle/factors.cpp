#include "tests/oracle/factors.h"

#include <array>

namespace loop::oracle {
namespace {

struct Shape {
  double number;
  int scale, configured, counted, ranks, global, rank, micro;
  bool other_class;
};
constexpr std::array<Shape, kFactors> kShapes = {{
    {1, 1, 0, 0, 0, 0, 0, 0, false},        // S
    {1, -1, 0, 0, 0, 0, 0, 0, false},       // 1/S
    {1, 0, -1, 0, 0, 0, 0, 0, false},       // 1/K
    {1, 0, 0, -1, 0, 0, 0, 0, false},       // 1/counted
    {1, 0, 0, 0, 1, 0, 0, 0, false},        // R
    {1, 0, 0, 0, -1, 0, 0, 0, false},       // 1/R
    {1, 0, 0, 0, 0, -1, 0, 0, false},       // 1/N
    {1, 0, 0, 0, 1, -1, 0, 0, false},       // R/N
    {1, 0, 0, 0, 0, 0, -1, 0, false},       // 1/N_r
    {1, 0, 0, 0, 0, 0, 0, -1, false},       // 1/n
    {1, 0, 0, 0, 0, -1, 0, 1, false},       // n/N
    {1, 1, -1, 0, 0, 0, 0, 0, false},       // S/K
    {1, 1, 0, -1, 0, 0, 0, 0, false},       // S/counted
    {1, 1, 0, 0, 0, -1, 0, 0, false},       // S/N
    {1, 1, 0, 0, 1, -1, 0, 0, false},       // S R/N
    {1, 1, 0, 0, 0, 0, 0, -1, false},       // S/n
    {1.0 / 3, 0, 0, 0, 0, 0, 0, 0, false},  // 1/3
    {2, 0, 0, 0, 0, 0, 0, 0, false},        // 2
    {1, 0, 0, 0, 1, -1, 0, 1, false},       // R n/N
    {1, -1, 0, 0, 0, -1, 0, 0, false},      // 1/(S N)
    {1, -1, 0, 0, 1, -1, 0, 0, false},      // R/(S N)
    {1, 0, 1, 0, 0, 0, 0, 0, false},        // K
    {1, 0, 0, 1, 0, 0, 0, 0, false},        // counted
    {1, 0, 0, -1, -1, 0, 0, 0, false},      // 1/(counted R)
    {1, 0, 0, 0, 0, -1, 0, 0, true},        // 1/N of the second class
    {1, 1, 0, 0, 0, -1, 0, 1, false},       // S n/N
    {1, 0, 0, 0, 0, -1, 1, 0, false},       // N_r/N
    {0.5, 0, 0, 0, 0, 0, 0, 0, false},      // 1/2
}};

bool writable(const Setting& setting, int variant, bool in_loss) {
  const Shape& shape = kShapes[variant];
  if (shape.configured && setting.size == Setting::Size::tokens) return false;
  if (shape.micro && !in_loss) return false;
  bool counts = shape.global || shape.rank || shape.micro;
  // A constant has no count to name.
  bool constant = setting.unit == Setting::Unit::constant || setting.unit == Setting::Unit::window;
  if (counts && !shape.other_class && constant) return false;
  if (shape.other_class && setting.classes < 2) return false;
  // Without a loss scale S = 1; two factors are enough to see that.
  if (shape.scale && !setting.fp16 && variant != kLossScale && variant != kOneOverLossScale) return false;
  return true;
}

std::vector<int> choose(const Setting& setting, bool in_loss) {
  std::vector<int> chosen;
  for (int variant = 0; variant < kFactors; ++variant)
    if (writable(setting, variant, in_loss)) chosen.push_back(variant);
  return chosen;
}

/// The lists depend on four facts only and are asked for often.
const std::vector<int>& chosen(const Setting& setting, bool in_loss) {
  thread_local std::array<std::vector<int>, 32> lists;
  size_t key = (setting.size == Setting::Size::tokens) |
               (setting.unit == Setting::Unit::constant || setting.unit == Setting::Unit::window) << 1 |
               (setting.classes > 1) << 2 | setting.fp16 << 3 | in_loss << 4;
  if (lists[key].empty()) lists[key] = choose(setting, in_loss);
  return lists[key];
}

}  // namespace

bool is_writable(const Setting& setting, const Token& token) {
  if (token.kind == plan::OpKind::scale_loss) return writable(setting, token.variant, true);
  if (token.kind == plan::OpKind::scale_grad) return writable(setting, token.variant, false);
  return true;
}

const std::vector<int>& loss_factors(const Setting& setting) {
  return chosen(setting, true);
}
const std::vector<int>& gradient_factors(const Setting& setting) {
  return chosen(setting, false);
}

plan::Factor factor(const Setting& setting, int variant) {
  using Symbol = plan::Power::Symbol;
  const Shape& shape = kShapes[variant];
  plan::Factor result;
  result.number = shape.number;
  auto plain = [&](Symbol symbol, int exponent) {
    if (exponent) result.powers.push_back({symbol, -1, "", exponent});
  };
  plain(Symbol::loss_scale, shape.scale);
  plain(Symbol::micro_batches, shape.configured);
  plain(Symbol::micro_batches_counted, shape.counted);
  plain(Symbol::ranks, shape.ranks);
  const char* first = setting.unit == Setting::Unit::micro_batch ? "micro_batch" : "tokens";
  const char* unit = !shape.other_class ? first : setting.equal ? "samples" : "boxes";
  auto count = [&](Symbol symbol, int exponent) {
    if (exponent) result.powers.push_back({symbol, shape.other_class ? 1 : 0, unit, exponent});
  };
  count(Symbol::count_global, shape.global);
  count(Symbol::count_rank, shape.rank);
  count(Symbol::count_micro, shape.micro);
  return result;
}

plan::Expression condition(int variant) {
  using plan::Expression;
  switch (variant) {
    case kFirst:
      return Expression::variable("first");
    case kLast:
      return Expression::variable("last");
    case kFinite:
      return Expression::variable("finite");
    case kNotFinite:
      return Expression::apply("not", {Expression::variable("finite")});
    default:
      return Expression::apply("not", {Expression::variable("last")});
  }
}

}  // namespace loop::oracle
