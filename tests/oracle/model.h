// The small model: its start, the gradient of a term's sum, the counts, the update rule, the scaler.
#pragma once

#include <algorithm>
#include <cmath>

#include "tests/oracle/executor.h"

namespace loop::oracle {

inline Snapshot start(const Program& p, const World& world) {
  Snapshot state;
  constexpr double theta[kElements] = {0.4, -0.3, 0.7, -0.6};
  for (int e = 0; e < kElements; ++e) state.theta[e] = state.average[e] = theta[e];
  state.scale = p.fp16 ? p.init_scale / world.scale_divisor : 1;
  return state;
}

/// Element e of the gradient of Σ_i ℓ_ti over micro-batch k of rank r.
inline double sum_gradient(const Window& window, int t, int r, int k, int e, double theta) {
  constexpr double slope[kMaxTerms] = {1.0, 0.6};
  double value = window.items[t][r][k] * slope[t] * (theta + 0.3 * theta * theta) - window.target[t][r][k][e];
  return r == window.bad_rank && k == window.bad_micro ? std::nan("") : value;
}

/// What one execution of `loss` adds to the count of class c.
inline double added_count(const Program& p, const Window& window, int c, int r, int k) {
  double items = window.items[c][r][k];
  switch (p.unit[c]) {
    case plan::CountUnit::constant:
    case plan::CountUnit::window:
      return 0;
    case plan::CountUnit::micro_batch:
      return items > 0 ? 1 : 0;
    default:
      return items;
  }
}

/// N_t from the sum of what was added: a constant for the units that do not count.
inline double finished_count(const Program& p, int c, double added) {
  if (p.unit[c] == plan::CountUnit::constant) return p.constant[c];
  if (p.unit[c] == plan::CountUnit::window) return 1;
  return added;
}

/// What ℓ_t is of the sum over the micro-batch: 1, or its mean for `per micro_batch`.
inline double own_share(const Program& p, const Window& window, int t, int r, int k) {
  if (p.unit[p.class_of[t]] != plan::CountUnit::micro_batch) return 1;
  return window.items[t][r][k] > 0 ? 1 / window.items[t][r][k] : 0;
}

/// What multiplies the thresholds of one kind of clip.
inline double scale_of(const World& world, plan::OpKind clip) {
  return clip == plan::OpKind::clip_norm ? world.norm_scale : world.value_scale;
}

inline double norm_factor(const Program& p, unsigned groups, double limit, const double* gradient) {
  double squares = 0;
  for (int g = 0; g < p.groups; ++g)
    if (groups >> g & 1)
      for (int e = 0; e < kElementsPerGroup; ++e) {
        double value = gradient[g * kElementsPerGroup + e];
        squares += value * value;
      }
  if (squares == 0) return 1;
  double factor = limit / std::sqrt(squares);
  return factor > 1 ? 1 : factor;  // not a number stays so
}

/// One applied step of the rule on group g.
inline void apply(const Rule& rule, int g, const double* gradient, Snapshot& state) {
  int updates = std::clamp(static_cast<int>(state.clocks[kUpdates]), 0, static_cast<int>(rule.lr.size()) - 1);
  for (int e = g * kElementsPerGroup; e < (g + 1) * kElementsPerGroup; ++e) {
    state.moment[e] = rule.momentum * state.moment[e] + gradient[e] + rule.weight_decay * state.theta[e];
    state.theta[e] -= rule.lr[updates] * state.moment[e];
  }
  ++state.steps[g];
}

inline void update_scale(const Program& p, bool finite, double& scale, int& tracker) {
  if (!p.fp16) return;
  if (!finite) {
    scale = std::max(scale * p.backoff, p.min_scale);
    tracker = 0;
  } else if (++tracker == p.growth_interval) {
    scale *= p.growth;
    tracker = 0;
  }
}

inline void move_average(const Program& p, const double* theta, double* average) {
  if (!p.has_average) return;
  for (int e = 0; e < p.groups * kElementsPerGroup; ++e)
    average[e] = p.ema_decay * average[e] + (1 - p.ema_decay) * theta[e];
}

}  // namespace loop::oracle
