#include "runtime/amp/loss_scaler.h"

#include <algorithm>
#include <cmath>

#include "loop/error.h"
#include "runtime/plan/expression.h"

namespace loop::amp {

namespace {

double to_fp32(double value) {
  return static_cast<double>(static_cast<float>(value));
}

bool is_scale(double value) {
  return std::isfinite(to_fp32(value)) && to_fp32(value) > 0;
}

std::string text(double value) {
  return plan::to_text(plan::Expression::constant(value));
}

[[noreturn]] void refuse(const std::string& what, double value, const std::string& range) {
  throw Error(ErrorKind::findings, "amp = fp16 with " + what + " = " + text(value), what + " is " + range);
}

}  // namespace

LossScaler::LossScaler(const plan::Amp& rule) : rule_(rule) {
  if (!is_scale(rule.init_scale)) refuse("init_scale", rule.init_scale, "a positive fp32 number");
  if (!(rule.min_scale > 0)) refuse("min_scale", rule.min_scale, "above 0");
  if (rule.init_scale < rule.min_scale) refuse("init_scale", rule.init_scale, "at least min_scale");
  if (!(rule.growth_factor >= 1) || !std::isfinite(rule.growth_factor))
    refuse("growth_factor", rule.growth_factor, "1 or more");
  if (!(rule.backoff_factor > 0 && rule.backoff_factor < 1))
    refuse("backoff_factor", rule.backoff_factor, "between 0 and 1");
  if (rule.growth_interval < 1)
    refuse("growth_interval", static_cast<double>(rule.growth_interval), "1 or more");
  state_.scale = to_fp32(rule.init_scale);
}

void LossScaler::update(bool finite) {
  if (!finite) {
    state_.scale = std::max(to_fp32(state_.scale * rule_.backoff_factor), to_fp32(rule_.min_scale));
    state_.applied_in_a_row = 0;
    return;
  }
  if (++state_.applied_in_a_row < rule_.growth_interval) return;
  state_.applied_in_a_row = 0;
  const double grown = to_fp32(state_.scale * rule_.growth_factor);
  if (std::isfinite(grown)) state_.scale = grown;
}

void LossScaler::restore(const ScalerState& state) {
  if (!is_scale(state.scale) || state.scale != to_fp32(state.scale) || state.applied_in_a_row < 0) {
    throw Error(ErrorKind::usage,
                "the saved loss scale " + text(state.scale) + " with " +
                    std::to_string(state.applied_in_a_row) + " applied updates since it changed is none",
                "the file is damaged: take another checkpoint");
  }
  state_ = state;
}

}  // namespace loop::amp
