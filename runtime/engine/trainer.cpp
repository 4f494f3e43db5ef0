#include "runtime/engine/trainer.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "loop/error.h"
#include "runtime/distributed/replicas.h"
#include "runtime/engine/horizon.h"
#include "runtime/engine/report.h"

namespace loop::engine {

namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<plan::Trigger> every_updates(int64_t updates) {
  if (updates <= 0) return {};
  return {{plan::Clock::updates, static_cast<double>(updates)}};
}

}  // namespace

Trainer::Trainer(Parts& parts, telemetry::Sink& sink)
    : parts_(parts),
      sink_(sink),
      averages_(parts.plan.averages, *parts.model, *parts.parameters),
      steps_(parts.plan, *parts.parameters, parts.compile_rule),
      former_(parts.former),
      batches_(parts.train(), data::Prefetcher::kDepth, data::Prefetcher::kLightBytes),
      planned_updates_(engine::planned_updates(parts.plan, parts.former)),
      stop_(parts.plan.stop),
      nonfinite_(parts.plan.nonfinite),
      log_every_(parts.plan.log.every),
      replicas_every_(every_updates(parts.plan.check_replicas_updates)) {
  if (!planned_updates_ && reads_horizon(parts.plan)) {
    throw Error(
        ErrorKind::findings, "`horizon` is used, but `stop` gives no bound that can be counted",
        "add a bound in updates, epochs, samples or tokens to `stop`: time and no_better cannot be foreseen");
  }
  windows_ = std::make_unique<WindowRunner>(parts.plan, parts.train(), *parts.model, *parts.parameters,
                                            *parts.objective, steps_, averages_, clocks_,
                                            planned_updates_.value_or(-1), *parts.ranks);
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

/// Ranks gather running statistics of their own; before anybody reads them they become one.
void Trainer::average_buffers() {
  distributed::average_buffers(*parts_.ranks, parts_.model->buffers());
  distributed::average_buffers(*parts_.ranks, averages_.buffers());
}

void Trainer::check_replicas() const {
  if (parts_.ranks->size() == 1) return;
  std::vector<distributed::NamedTensor> tensors;
  for (const gradients::ParameterGroup& group : parts_.parameters->groups()) {
    for (const gradients::Slot& slot : group.slots)
      tensors.push_back({"parameter " + slot.name, slot.parameter});
    for (size_t s = 0; s < group.states.size(); ++s) {
      tensors.push_back(
          {"optimizer state " + std::to_string(s + 1) + " of group " + group.name, group.states[s]});
    }
  }
  distributed::check_replicas(*parts_.ranks, tensors, clocks_.updates);
}

Ending Trainer::run(const std::function<bool()>& interrupted) {
  begun_seconds_ = steady_seconds();
  parts_.model->train();
  Ending ending;
  const bool alone = parts_.ranks->size() == 1;
  windows_->on_flags([&] { return RankFlags{interrupted(), steady_seconds() - begun_seconds_}; });
  const auto interrupt = [&] {
    // Ranks stop together: at the window after which all of them know.
    ending.interrupted = alone ? interrupted() : interrupted_;
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
  average_buffers();
  check_replicas();
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
  if (parts_.ranks->size() > 1) {
    clocks_.seconds = result.state.seconds;
    interrupted_ = interrupted_ || result.state.interrupted;
    parts_.ranks->training_begins();
  }
  report(make_record(parts_, clocks_, window, result), window, steady_seconds() - before);
  if (!result.empty && result.state.stepped)
    nonfinite_.finished(result.applied, clocks_.updates, result.skipped, windows_->loss_scaler());
  if (!replicas_every_.empty() && replicas_every_.fires(clocks_)) check_replicas();
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
  average_buffers();
  const auto record = scheduled.evaluator.run(clocks_, interrupted);
  if (!record) {
    interrupted_ = true;
    return false;
  }
  ++clocks_.evaluations;
  scheduled.last_update = clocks_.updates;
  if (parts_.ranks->size() == 1) count_seconds();  // else the next window brings a time that all ranks share
  sink_.evaluation(*record);
  for (const auto& [metric, value] : record->metrics) stop_.evaluated(record->name + "." + metric, value);
  return true;
}

}  // namespace loop::engine
