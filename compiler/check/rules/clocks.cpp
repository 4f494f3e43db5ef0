// Schedules against the end of the run, and metrics that `stop` waits for.
#include <algorithm>
#include <cmath>

#include "compiler/check/rules/rules.h"
#include "compiler/check/typestate/executor.h"
#include "runtime/plan/expression.h"

namespace loop::check {
namespace {

using diagnostics::Code;
using plan::Clock;
using plan::Expression;
using plan::OpKind;

bool bounds_updates(const sema::StopCondition& stop) {
  return stop.condition.kind == plan::StopCondition::Kind::reached &&
         stop.condition.limit.clock != Clock::seconds;
}

/// The number of updates after which the run ends at the latest, if `stop` says it in updates.
std::optional<double> last_update(const sema::Spec& spec) {
  std::optional<double> updates;
  for (const sema::StopCondition& stop : spec.stop) {
    if (!bounds_updates(stop) || stop.condition.limit.clock != Clock::updates) continue;
    updates = std::min(updates.value_or(stop.condition.limit.value), stop.condition.limit.value);
  }
  return updates;
}

std::string number_text(double value) {
  return plan::to_text(Expression::constant(value));
}

void check_horizon(const sema::Spec& spec, diagnostics::Engine& engine) {
  if (std::any_of(spec.stop.begin(), spec.stop.end(), bounds_updates)) return;
  for (const sema::Operation* operation : all_operations(spec)) {
    for (const plan::NamedExpression& hyper : operation->op.rule.hyper) {
      if (!plan::variables(hyper.value).count("horizon")) continue;
      base::Span place = operation->argument_span;
      for (const sema::ScheduleUse& schedule : spec.schedules) {
        if (schedule.value == hyper.value) place = schedule.span;
      }
      engine.report(Code::L601, place)
          .also(spec.stop_span, "time and `no_better` do not tell how many updates there will be")
          .help("add a bound, as in `stop = 1000 updates or no_better(…)`, or give the schedule a number");
      return;
    }
  }
}

/// A schedule's value as a function of one clock; nothing where it needs something else.
std::optional<double> value_at(const Expression& value, const char* clock, double at,
                               std::optional<double> horizon) {
  return plan::evaluate(value, [&](std::string_view name) -> std::optional<double> {
    if (name == clock) return at;
    if (name == "horizon") return horizon;
    return std::nullopt;
  });
}

void check_rate(const sema::Operation& step, const plan::NamedExpression& rate, double end,
                diagnostics::Engine& engine) {
  const std::set<std::string> variables = plan::variables(rate.value);
  if (!variables.count("updates")) return;
  const auto at = [&](double update) { return value_at(rate.value, "updates", update, end); };
  const std::optional<double> at_end = at(end - 1);
  if (!at_end || *at_end != 0 || end < 2) return;
  // The rate is zero from some update to the end: find the first one by halving.
  double zero = end - 1, positive = 0;
  if (const std::optional<double> start = at(0); start && *start == 0) positive = std::floor(end / 2);
  if (at(positive) == 0) return;
  while (zero - positive > 1) {
    const double middle = std::floor((zero + positive) / 2);
    (at(middle) == 0 ? zero : positive) = middle;
  }
  if (end - zero < 2) return;
  engine.report(Code::L604, step.argument_span, {rate.name, number_text(zero), number_text(end)})
      .note(number_text(end - zero) + " updates change nothing")
      .help("write `total: horizon`, or end the run there");
}

void check_schedules(const sema::Spec& spec, diagnostics::Engine& engine) {
  const std::optional<double> end = last_update(spec);
  for (const sema::ScheduleUse& schedule : spec.schedules) {
    if (schedule.clock == Clock::attempts || schedule.clock == Clock::micro_batches ||
        schedule.clock == Clock::samples_seen || schedule.clock == Clock::tokens_seen) {
      engine.report(Code::L602, schedule.span, {plan::name(schedule.clock)})
          .help("`updates`, `samples` and `tokens` count what was applied");
    }
    if (!end || schedule.clock != Clock::updates || !schedule.total) continue;
    const std::optional<double> total = value_at(*schedule.total, "updates", 0, end);
    if (!total || *total <= *end) continue;
    double peak = 0;
    for (int i = 0; i <= 64; ++i) {
      peak = std::max(
          peak, std::abs(value_at(schedule.value, "updates", std::floor(*total * i / 64), end).value_or(0)));
    }
    const std::optional<double> last = value_at(schedule.value, "updates", *end - 1, end);
    if (!last || peak == 0 || std::abs(*last) >= peak) continue;
    const std::string percent =
        std::to_string(static_cast<int>(std::lround(100 * std::abs(*last) / peak))) + "%";
    const size_t dot = schedule.schedule.rfind('.');
    engine
        .report(Code::L605, schedule.span,
                {number_text(*total), number_text(*end),
                 schedule.schedule.substr(dot == std::string::npos ? 0 : dot + 1), percent})
        .help("write `total: horizon`");
  }
  if (!end) return;
  for (const sema::Operation* operation : all_operations(spec)) {
    if (operation->op.kind != OpKind::step) continue;
    for (const plan::NamedExpression& hyper : operation->op.rule.hyper) {
      if (hyper.name == "lr") check_rate(*operation, hyper, *end, engine);
    }
  }
}

}  // namespace

void check_clocks(const sema::Spec& spec, diagnostics::Engine& engine) {
  check_horizon(spec, engine);
  check_schedules(spec, engine);
}

}  // namespace loop::check
