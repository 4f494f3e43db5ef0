#include "runtime/engine/triggers.h"

#include <cmath>
#include <cstdio>

namespace loop::engine {

namespace {

/// Multiples of `period` passed at `value`. A clock counted in fractions (epochs) reaches 0.3 as 0.1 + 0.1 +
/// 0.1 does.
double multiples(double value, double period) {
  constexpr double kRounding = 1e-9;
  return std::floor(value / period + kRounding);
}

bool reaches(double value, double limit) {
  return value >= limit - 1e-9 * std::abs(limit);
}

std::string number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.12g", value);
  return buffer;
}

}  // namespace

Every::Every(std::vector<plan::Trigger> triggers)
    : triggers_(std::move(triggers)), passed_(triggers_.size(), 0) {}

bool Every::fires(const Clocks& clocks) {
  bool fired = false;
  for (size_t i = 0; i < triggers_.size(); ++i) {
    const double now = multiples(clocks.value(triggers_[i].clock), triggers_[i].value);
    if (now > passed_[i]) {
      passed_[i] = now;
      fired = true;
    }
  }
  return fired;
}

std::string to_text(const plan::Trigger& trigger) {
  if (trigger.clock != plan::Clock::seconds) return number(trigger.value) + " " + plan::name(trigger.clock);
  if (trigger.value >= 3600) return number(trigger.value / 3600) + " h";
  if (trigger.value >= 60) return number(trigger.value / 60) + " min";
  return number(trigger.value) + " s";
}

bool larger_is_better(const std::string& metric) {
  return metric.substr(metric.rfind('.') + 1) == "accuracy";
}

StopConditions::StopConditions(std::vector<plan::StopCondition> conditions) {
  for (auto& condition : conditions) watches_.push_back({std::move(condition), std::nullopt, 0});
}

void StopConditions::evaluated(const std::string& metric, double value) {
  for (Watch& watch : watches_) {
    if (watch.condition.kind != plan::StopCondition::Kind::no_better || watch.condition.metric != metric)
      continue;
    // NaN is never better.
    const bool better = larger_is_better(metric) ? (watch.best ? value > *watch.best : value == value)
                                                 : (watch.best ? value < *watch.best : value == value);
    if (better) {
      watch.best = value;
      watch.evaluations_since_best = 0;
    } else {
      ++watch.evaluations_since_best;
    }
  }
}

std::optional<std::string> StopConditions::reached(const Clocks& clocks) const {
  for (const Watch& watch : watches_) {
    const plan::StopCondition& condition = watch.condition;
    if (condition.kind == plan::StopCondition::Kind::reached) {
      if (reaches(clocks.value(condition.limit.clock), condition.limit.value))
        return to_text(condition.limit);
    } else if (double(watch.evaluations_since_best) >= condition.patience_evaluations) {
      return condition.metric + " was no better for " + number(condition.patience_evaluations) +
             " evaluations";
    }
  }
  return std::nullopt;
}

std::optional<int64_t> StopConditions::last_epoch() const {
  std::optional<int64_t> last;
  for (const Watch& watch : watches_) {
    const plan::StopCondition& condition = watch.condition;
    if (condition.kind != plan::StopCondition::Kind::reached || condition.limit.clock != plan::Clock::epochs)
      continue;
    const auto epochs = static_cast<int64_t>(std::ceil(condition.limit.value - 1e-9));
    if (!last || epochs < *last) last = epochs;
  }
  return last;
}

}  // namespace loop::engine
