// Schedules against the end of the run, and metrics that `stop` waits for.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "compiler/check/rules/epoch_windows.h"
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

/// Where `stop` ends the run on this clock at the latest.
std::optional<double> bound_on(const sema::Spec& spec, Clock clock) {
  std::optional<double> bound;
  for (const sema::StopCondition& stop : spec.stop) {
    if (!bounds_updates(stop) || stop.condition.limit.clock != clock) continue;
    bound = std::min(bound.value_or(stop.condition.limit.value), stop.condition.limit.value);
  }
  return bound;
}

/// The run's length in updates, and where it comes from when `stop` gives it in epochs.
struct End {
  double updates = 0;
  std::string reckoning;
};

/// The number of updates after which the run ends at the latest, if `stop` says it in updates or in epochs of
/// a known length.
std::optional<End> end_of_run(const sema::Spec& spec) {
  std::optional<End> end;
  if (const std::optional<double> updates = bound_on(spec, Clock::updates)) end = End{*updates, ""};
  const std::optional<double> epochs = bound_on(spec, Clock::epochs);
  if (!epochs || std::floor(*epochs) != *epochs || *epochs > 1e12) return end;
  const std::optional<PlannedWindows> planned = windows_in(spec, static_cast<int64_t>(*epochs));
  if (planned && (!end || static_cast<double>(planned->windows) < end->updates))
    end = End{static_cast<double>(planned->windows), planned->reckoning};
  return end;
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

void check_rate(const sema::Operation& step, const plan::NamedExpression& rate, const End& run,
                diagnostics::Engine& engine) {
  const double end = run.updates;
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
  diagnostics::Diagnostic& finding =
      engine.report(Code::L604, step.argument_span, {rate.name, number_text(zero), number_text(end)});
  finding.note(number_text(end - zero) + " updates change nothing");
  if (!run.reckoning.empty()) finding.note(run.reckoning);
  finding.help("write `total: horizon`, or end the run there");
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

/// The schedule's own name, without its module.
std::string name_of(const sema::ScheduleUse& schedule) {
  const size_t dot = schedule.schedule.rfind('.');
  return schedule.schedule.substr(dot == std::string::npos ? 0 : dot + 1);
}

/// A schedule is meant up to its `total`. Past it, it may stay or go on falling, but a formula that nothing
/// limits (`min(clock / total, 1)`) comes up again or changes its sign.
void check_past_total(const sema::ScheduleUse& schedule, double total, double end,
                      const std::optional<double>& horizon, diagnostics::Engine& engine) {
  constexpr int kSamples = 1024;
  const char* clock = plan::name(schedule.clock);
  const auto at = [&](double place) { return value_at(schedule.value, clock, place, horizon); };
  double peak = 0;
  for (int i = 0; i <= kSamples; ++i)
    peak = std::max(peak, std::abs(at(std::floor(total * i / kSamples)).value_or(0)));
  const std::optional<double> there = at(total);
  if (!there || peak == 0) return;
  const double slack = 1e-6 * peak;
  double lowest = *there;
  double before = total;
  for (int i = 1; i <= kSamples; ++i) {
    const double place = std::min(std::ceil(total + (end - 1 - total) * i / kSamples), end - 1);
    if (place <= before) continue;
    before = place;
    const std::optional<double> value = at(place);
    if (!value) return;
    std::string what;
    if (*value < -slack && *there >= -slack) what = "it is negative: " + short_number(*value);
    if (*value > lowest + slack)
      what = "it rises again, from " + short_number(lowest) + " to " + short_number(*value);
    lowest = std::min(lowest, *value);
    if (what.empty()) continue;
    const std::string unit = std::string(" ") + clock;
    engine.report(Code::L606, schedule.span, {name_of(schedule), number_text(total) + unit, what})
        .note("at " + number_text(place) + unit + "; the run ends at " + number_text(end))
        .help("give it the run's length (`total: horizon`), and hold its end with `min(clock / total, 1)`");
    return;
  }
}

void check_total(const sema::Spec& spec, const sema::ScheduleUse& schedule, const std::optional<End>& run,
                 diagnostics::Engine& engine) {
  const bool of_updates = schedule.clock == Clock::updates;
  const std::optional<double> end =
      of_updates && run ? std::optional(run->updates) : bound_on(spec, schedule.clock);
  if (!end || !schedule.total) return;
  const std::optional<double> horizon = run ? std::optional(run->updates) : std::nullopt;
  const std::optional<double> total = value_at(*schedule.total, "", 0, horizon);
  if (total && *total < *end - 1) check_past_total(schedule, *total, *end, horizon, engine);
  if (!of_updates || !total || *total <= *end) return;
  double peak = 0;
  for (int i = 0; i <= 64; ++i) {
    peak = std::max(
        peak, std::abs(value_at(schedule.value, "updates", std::floor(*total * i / 64), end).value_or(0)));
  }
  const std::optional<double> last = value_at(schedule.value, "updates", *end - 1, end);
  if (!last || peak == 0 || std::abs(*last) >= peak) return;
  const std::string percent =
      std::to_string(static_cast<int>(std::lround(100 * std::abs(*last) / peak))) + "%";
  diagnostics::Diagnostic& finding = engine.report(
      Code::L605, schedule.span, {number_text(*total), number_text(*end), name_of(schedule), percent});
  if (!run->reckoning.empty()) finding.note(run->reckoning);
  finding.help("write `total: horizon`");
}

bool moves_without_update(Clock clock) {
  return clock == Clock::attempts || clock == Clock::micro_batches || clock == Clock::samples_seen ||
         clock == Clock::tokens_seen;
}

void check_schedules(const sema::Spec& spec, diagnostics::Engine& engine) {
  const std::optional<End> run = end_of_run(spec);
  for (const sema::ScheduleUse& schedule : spec.schedules) {
    if (moves_without_update(schedule.clock)) {
      engine.report(Code::L602, schedule.span, {plan::name(schedule.clock)})
          .help("`updates`, `samples` and `tokens` count what was applied");
    }
    check_total(spec, schedule, run, engine);
  }
  if (!run) return;
  for (const sema::Operation* operation : all_operations(spec)) {
    if (operation->op.kind != OpKind::step) continue;
    for (const plan::NamedExpression& hyper : operation->op.rule.hyper) {
      if (hyper.name == "lr") check_rate(*operation, hyper, *run, engine);
    }
  }
}

/// Data that was read may bound a run (`samples_seen`); windows that were tried are no measure of training.
void check_stop(const sema::Spec& spec, diagnostics::Engine& engine) {
  for (const sema::StopCondition& stop : spec.stop) {
    const Clock clock = stop.condition.limit.clock;
    const bool reached = stop.condition.kind == plan::StopCondition::Kind::reached;
    if (!reached || (clock != Clock::attempts && clock != Clock::micro_batches)) continue;
    engine.report(Code::L607, stop.span, {plan::name(clock)})
        .note("with 5 of 100 windows skipped, 1000 attempts are 950 updates")
        .help("`updates` counts what was applied");
  }
}

void check_averages(const sema::Spec& spec, diagnostics::Engine& engine) {
  for (const sema::Average& average : spec.averages) {
    for (const std::string& variable : plan::variables(average.average.decay)) {
      for (const Clock clock :
           {Clock::attempts, Clock::micro_batches, Clock::samples_seen, Clock::tokens_seen}) {
        if (variable != plan::name(clock)) continue;
        engine.report(Code::L608, average.span, {average.average.name, variable})
            .help("write `updates`: an average moves once per applied update");
      }
    }
  }
}

}  // namespace

void check_clocks(const sema::Spec& spec, diagnostics::Engine& engine) {
  check_horizon(spec, engine);
  check_schedules(spec, engine);
  check_stop(spec, engine);
  check_averages(spec, engine);
}

}  // namespace loop::check
