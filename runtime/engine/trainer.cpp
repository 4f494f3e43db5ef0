#include "runtime/engine/trainer.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "loop/error.h"
#include "runtime/engine/horizon.h"
#include "runtime/engine/report.h"

namespace loop::engine {

namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Trainer::Trainer(Parts& parts, telemetry::Sink& sink)
    : parts_(parts),
      sink_(sink),
      averages_(parts.plan.averages, *parts.model, *parts.parameters),
      steps_(parts.plan, *parts.parameters),
      former_(parts.former),
      batches_(parts.train()),
      planned_updates_(engine::planned_updates(parts.plan, parts.former)),
      stop_(parts.plan.stop),
      nonfinite_(parts.plan.nonfinite),
      log_every_(parts.plan.log.every) {
  if (!planned_updates_ && reads_horizon(parts.plan)) {
    throw Error(
        ErrorKind::findings, "`horizon` is used, but `stop` gives no bound that can be counted",
        "add a bound in updates, epochs, samples or tokens to `stop`: time and no_better cannot be foreseen");
  }
  windows_ = std::make_unique<WindowRunner>(parts.plan, parts.train(), *parts.model, *parts.parameters,
                                            *parts.objective, steps_, averages_, clocks_,
                                            planned_updates_.value_or(-1));
  for (const plan::Evaluation& evaluation : parts.plan.evaluations) {
    evaluations_.push_back({Evaluator(evaluation, parts_, averages_), Every(evaluation.every), std::nullopt});
  }
  check_metrics();
}

void Trainer::check_metrics() const {
  std::set<std::string> known;
  for (const plan::Evaluation& evaluation : parts_.plan.evaluations) {
    for (const std::string& metric : evaluation.metrics) known.insert(evaluation.name + "." + metric);
  }
  for (const plan::StopCondition& condition : parts_.plan.stop) {
    if (condition.kind != plan::StopCondition::Kind::no_better || known.contains(condition.metric)) continue;
    throw Error(ErrorKind::findings, "`stop` waits for " + condition.metric + ", which no evaluation gives",
                "add the evaluation, or its metric to `metrics`");
  }
}

void Trainer::count_seconds() {
  clocks_.seconds = steady_seconds() - begun_seconds_;
}

Ending Trainer::run(const std::function<bool()>& interrupted) {
  begun_seconds_ = steady_seconds();
  parts_.model->train();
  Ending ending;
  const auto interrupt = [&] {
    ending.interrupted = interrupted();
    if (ending.interrupted) ending.reason = "interrupted";
    return ending.interrupted;
  };
  for (Scheduled& scheduled : evaluations_) {
    if (scheduled.evaluator.evaluation().at_start && !evaluate(scheduled, interrupted)) break;
  }
  while (!interrupt()) {
    if (const auto reached = stop_.reached(clocks_)) {
      ending.reason = *reached;
      break;
    }
    const data::WindowFormer::Bounded next = take_window();
    if (!next.complete) {
      ending.reason = std::to_string(*stop_.last_epoch()) + " epochs";
      ending.discarded_micro_batches = static_cast<int64_t>(next.window.micro.size());
      break;
    }
    run_window(next.window);
    for (Scheduled& scheduled : evaluations_) {
      if (scheduled.every.fires(clocks_) && !evaluate(scheduled, interrupted)) break;
    }
  }
  write_pending_line();
  if (ending.interrupted) return ending;
  for (Scheduled& scheduled : evaluations_) {
    const bool done = scheduled.last_update == clocks_.updates;
    if (scheduled.evaluator.evaluation().at_end && !done && !evaluate(scheduled, interrupted)) break;
  }
  interrupt();
  return ending;
}

void Trainer::form_next() {
  const auto& ramp = parts_.plan.window.size.ramp;
  const double ramp_clock = ramp ? clocks_.value(ramp->over_clock) : 0;
  if (const auto last = stop_.last_epoch()) {
    next_ = former_.next_until(*last, ramp_clock);
  } else {
    next_ = data::WindowFormer::Bounded{former_.next(ramp_clock), true};
  }
  if (!next_->complete) return;
  batches_.request_all(next_->window);
}

/// The next window. Without a ramp the one after it is formed already, so that its batches are collated
/// meanwhile; a ramp has to see first whether this one is applied.
data::WindowFormer::Bounded Trainer::take_window() {
  if (!next_) form_next();
  data::WindowFormer::Bounded taken = std::move(*next_);
  next_.reset();
  lost_samples_ += taken.window.lost_samples;
  if (taken.complete && !parts_.plan.window.size.ramp) form_next();
  return taken;
}

void Trainer::run_window(const data::WindowPlan& window) {
  const double before = steady_seconds();
  const WindowResult result = windows_->run(window, [this] { return batches_.next(); });
  count_seconds();
  report(make_record(parts_, clocks_, window, result), window, steady_seconds() - before);
  if (!result.empty && result.state.stepped)
    nonfinite_.finished(result.applied, clocks_.updates, result.skipped);
}

void Trainer::report(telemetry::UpdateRecord record, const data::WindowPlan& window, double seconds) {
  tokens_since_line_ += static_cast<double>(window.tokens);
  seconds_since_line_ += seconds;
  record.tokens_per_second = seconds_since_line_ > 0 ? tokens_since_line_ / seconds_since_line_ : 0;
  const bool due = log_every_.empty() || log_every_.fires(clocks_);
  record.line = due || !first_line_written_ || !record.skipped.empty() || record.lost_samples > 0;
  if (record.line) {
    first_line_written_ = true;
    tokens_since_line_ = seconds_since_line_ = 0;
    pending_line_.reset();
  } else {
    pending_line_ = record;
  }
  sink_.update(record);
}

void Trainer::write_pending_line() {
  if (!pending_line_) return;
  pending_line_->line = true;
  sink_.update(*pending_line_);
  pending_line_.reset();
}

bool Trainer::evaluate(Scheduled& scheduled, const std::function<bool()>& interrupted) {
  const auto record = scheduled.evaluator.run(clocks_, interrupted);
  if (!record) return false;
  ++clocks_.evaluations;
  scheduled.last_update = clocks_.updates;
  count_seconds();
  sink_.evaluation(*record);
  for (const auto& [metric, value] : record->metrics) stop_.evaluated(record->name + "." + metric, value);
  return true;
}

}  // namespace loop::engine
