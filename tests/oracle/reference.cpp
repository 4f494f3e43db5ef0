// The reference, computed from the objective and not by executing operations.
#include <algorithm>
#include <cmath>

#include "tests/oracle/executor.h"
#include "tests/oracle/model.h"

namespace loop::oracle {
namespace {

double global_count(const Program& p, const World& world, const Window& window, int c) {
  double sum = 0;
  for (int r = 0; r < world.ranks; ++r)
    for (int k = 0; k < window.counted; ++k) sum += added_count(p, window, c, r, k);
  return finished_count(p, c, sum);
}

void clip(const Program& p, const Clip& clip, double limit, double* gradient, bool& active) {
  if (clip.kind == plan::OpKind::clip_norm) {
    double factor = norm_factor(p, clip.groups, limit, gradient);
    active = active || factor < 1;
    for (int g = 0; g < p.groups; ++g)
      if (clip.groups >> g & 1)
        for (int e = 0; e < kElementsPerGroup; ++e) gradient[g * kElementsPerGroup + e] *= factor;
    return;
  }
  for (int g = 0; g < p.groups; ++g)
    if (clip.groups >> g & 1)
      for (int e = 0; e < kElementsPerGroup; ++e) {
        double& value = gradient[g * kElementsPerGroup + e];
        active = active || std::abs(value) > limit;
        value = std::clamp(value, -limit, limit);
      }
}

enum class Kind { ordinary, empty, not_finite };

/// The objective's gradient at θ by one sum over all samples of the window. `first_count` is N of the first
/// class.
Kind objective_gradient(const Program& p, const World& world, const Window& window, const double* theta,
                        double* gradient, double& first_count) {
  double counts[kMaxTerms] = {};
  bool empty = true;
  for (int c = 0; c < p.classes; ++c) {
    counts[c] = global_count(p, world, window, c);
    empty = empty && counts[c] == 0;
  }
  first_count = counts[0];
  if (empty) return Kind::empty;
  int elements = p.groups * kElementsPerGroup;
  for (int t = 0; t < p.terms; ++t) {
    double count = counts[p.class_of[t]];
    if (count == 0) continue;
    for (int r = 0; r < world.ranks; ++r)
      for (int k = 0; k < window.counted; ++k)
        for (int e = 0; e < elements; ++e)
          gradient[e] += p.weight[t] / count * own_share(p, window, t, r, k) *
                         sum_gradient(window, t, r, k, e, theta[e]);
  }
  for (int e = 0; e < elements; ++e)
    if (!std::isfinite(gradient[e])) return Kind::not_finite;
  return Kind::ordinary;
}

double median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

Sizes usual_sizes(const Program& p, const World& world) {
  Snapshot state = start(p, world);
  std::vector<double> norms, elements;
  for (const Window& window : world.windows) {
    double gradient[kElements] = {};
    double count = 0;
    if (objective_gradient(p, world, window, state.theta, gradient, count) != Kind::ordinary) continue;
    double squares = 0, largest = 0;
    for (double element : gradient) {
      squares += element * element;
      largest = std::max(largest, std::abs(element));
    }
    norms.push_back(std::sqrt(squares));
    elements.push_back(largest);
  }
  return {median(norms), median(elements)};
}

std::vector<Snapshot> reference(const Program& p, const World& world, int* clip_active) {
  std::vector<Snapshot> course;
  Snapshot state = start(p, world);
  for (const Window& window : world.windows) {
    double gradient[kElements] = {};
    double count = 0;
    Kind kind = objective_gradient(p, world, window, state.theta, gradient, count);
    bool empty = kind == Kind::empty, applied = kind == Kind::ordinary;
    if (applied) {
      bool active = false;
      for (const Clip& one : p.clips) clip(p, one, one.limit * scale_of(world, one.kind), gradient, active);
      if (clip_active && active) ++*clip_active;
      for (int g = 0; g < p.groups; ++g) apply(p.rules[p.rule_of[g]], g, gradient, state);
    }
    if (!empty && p.updates_scale) update_scale(p, applied, state.scale, state.tracker);
    ++state.clocks[kAttempts];
    state.clocks[kMicroBatches] += window.counted;
    state.clocks[kTokensSeen] += count;
    if (applied) state.skipped = 0;
    if (!applied && !empty) ++state.skipped;
    if (applied) {
      ++state.clocks[kUpdates];
      state.clocks[kTokens] += count;
      move_average(p, state.theta, state.average);
    }
    course.push_back(state);
  }
  return course;
}

}  // namespace loop::oracle
