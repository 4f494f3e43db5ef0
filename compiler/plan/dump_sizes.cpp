// Memory of optimizer states, and schedules at a few points.
#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/plan/dump_parts.h"
#include "runtime/plan/names.h"

namespace loop::planner {
namespace {

void collect_steps(const std::vector<plan::Operation>& operations,
                   std::vector<const plan::Operation*>& steps) {
  for (const plan::Operation& operation : operations) {
    if (operation.kind == plan::OpKind::step) steps.push_back(&operation);
    collect_steps(operation.body, steps);
  }
}

std::vector<const plan::Operation*> steps_of(const plan::Plan& plan) {
  std::vector<const plan::Operation*> steps;
  collect_steps(plan.micro, steps);
  collect_steps(plan.update, steps);
  return steps;
}

/// The number of updates at which the run ends, if the plan says it in updates.
double planned_updates(const plan::Plan& plan, int64_t horizon) {
  if (horizon > 0) return static_cast<double>(horizon);
  for (const plan::StopCondition& stop : plan.stop) {
    if (stop.kind == plan::StopCondition::Kind::reached && stop.limit.clock == plan::Clock::updates)
      return stop.limit.value;
  }
  return 0;
}

/// The one clock a schedule follows; nothing for several.
std::optional<std::string> clock_of(const plan::Expression& value) {
  std::set<std::string> clocks = plan::variables(value);
  clocks.erase("horizon");
  if (clocks.size() != 1) return std::nullopt;
  return *clocks.begin();
}

std::string points_of(const plan::Expression& value, const std::string& clock, double end) {
  std::string text;
  std::set<double> shown;
  for (const double part : {0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0}) {
    const double at = std::max(0.0, std::floor(end * part) - (part == 1.0 ? 1 : 0));
    if (!shown.insert(at).second) continue;
    const std::optional<double> result =
        plan::evaluate(value, [&](std::string_view name) -> std::optional<double> {
          if (name == clock) return at;
          if (name == "horizon") return end;
          return std::nullopt;
        });
    if (!result) return "";
    text += (text.empty() ? "" : ", ") + number_text(*result) + " at " + number_text(at);
  }
  return text;
}

std::string on_groups(const plan::Operation& step) {
  std::string text;
  for (const std::string& group : step.groups) text += (text.empty() ? " on " : ", ") + group;
  return text;
}

}  // namespace

double bytes_per_number(plan::Dtype dtype) {
  switch (dtype) {
    case plan::Dtype::fp32:
      return 4;
    case plan::Dtype::fp64:
      return 8;
    case plan::Dtype::bf16:
      return 4;  // the master copy is fp32
  }
  return 4;
}

StateCount states_per_parameter(const plan::Plan& plan) {
  StateCount count;
  for (const plan::Operation* step : steps_of(plan)) {
    const plan::UpdateRule* rule = plan.rule_of(step->rule);
    if (!rule) return {};
    const auto states = static_cast<double>(rule->states.size());
    count.least = count.known ? std::min(count.least, states) : states;
    count.most = std::max(count.most, states);
    count.known = true;
  }
  return count;
}

std::vector<SchedulePoints> schedule_points(const plan::Plan& plan, int64_t horizon) {
  std::vector<SchedulePoints> schedules;
  const double end = planned_updates(plan, horizon);
  for (const plan::Operation* step : steps_of(plan)) {
    for (const plan::NamedExpression& hyper : step->rule.hyper) {
      if (hyper.value.kind == plan::Expression::Kind::constant) continue;
      const std::string name = hyper.name + on_groups(*step);
      const std::optional<std::string> clock = clock_of(hyper.value);
      std::string points;
      if (clock == plan::name(plan::Clock::updates) && end > 0) points = points_of(hyper.value, *clock, end);
      if (points.empty()) {
        schedules.push_back({name, plan::to_text(hyper.value)});
      } else {
        schedules.push_back({name, points + " updates"});
      }
    }
  }
  return schedules;
}

}  // namespace loop::planner
