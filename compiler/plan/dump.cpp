#include "compiler/plan/dump.h"

#include <cmath>

#include "compiler/plan/dump_parts.h"
#include "compiler/plan/update_traffic.h"
#include "runtime/plan/json.h"
#include "runtime/plan/names.h"

namespace loop::planner {
namespace {

void line(std::ostream& out, const std::string& key, const std::string& value) {
  constexpr size_t kKeyWidth = 14;
  out << "  " << key << std::string(key.size() < kKeyWidth ? kKeyWidth - key.size() : 1, ' ') << value
      << "\n";
}

void dump_header(std::ostream& out, const plan::Plan& plan) {
  out << "loop " << plan.loop_name << "  (plan " << plan::plan_hash(plan) << ")\n";
  line(out, "model", component_text(plan.model));
  std::string numbers = plan::name(plan.dtype);
  if (plan.accumulate != plan.dtype)
    numbers += std::string(", gradients summed in ") + plan::spelling(plan.accumulate);
  if (plan.amp.mode != plan::AmpMode::off)
    numbers += std::string(", forward in ") + plan::spelling(plan.amp.mode);
  line(out, "numbers", numbers);
  line(out, "device", plan::spelling(plan.device));
  line(out, "ranks", plan.ranks ? std::to_string(*plan.ranks) : "any number R");
  line(out, "seed", std::to_string(plan.seed));
  if (plan.batch_norm) line(out, "batch_norm", plan::spelling(*plan.batch_norm));
  for (const std::string& override_text : plan.overrides) line(out, "--set", override_text);
}

void dump_data(std::ostream& out, const plan::Plan& plan) {
  out << "\ndata\n";
  for (const plan::Source& source : plan.data.sources) {
    line(out, source.name,
         component_text(source.component) + (source.name == plan.data.train ? ", trained on" : ""));
  }
  line(out, "order", plan::name(plan.data.order));
  const std::string samples = plan.data.micro_batch_auto
                                  ? "as many samples as fit into " + bytes_text(plan.memory_bytes)
                                  : count_text(static_cast<double>(plan.data.micro_batch_samples), "sample");
  line(out, "micro-batch",
       samples + " per rank; a short last one: " + plan::spelling(plan.data.short_policy));
}

void dump_groups(std::ostream& out, const plan::Plan& plan) {
  out << "\nparameter groups\n";
  for (const plan::Group& group : plan.groups) {
    line(out, group.name, predicate_text(group.predicate) + (group.frozen ? ", frozen" : ""));
  }
}

void dump_operations(std::ostream& out, const std::vector<plan::Operation>& operations, int depth) {
  for (const plan::Operation& operation : operations) {
    out << std::string(2 * depth, ' ') << operation_text(operation);
    if (const std::string folded = fold_text(operation); !folded.empty()) out << "  # " << folded;
    if (!operation.body.empty()) {
      out << " {\n";
      dump_operations(out, operation.body, depth + 1);
      out << std::string(2 * depth, ' ') << "}";
    }
    out << "\n";
  }
}

void dump_window(std::ostream& out, const plan::Plan& plan) {
  out << "\nwindow\n";
  line(out, "size", window_size_text(plan.window.size));
  line(out, "tail", plan.window.tail ? tail_text(*plan.window.tail) : "the source never ends");
  line(out, "empty",
       plan.window.empty == plan::EmptyPolicy::skip ? "a window without a counted unit is skipped"
                                                    : "a window without a counted unit is an error");
  line(out, "not finite", nonfinite_text(plan.nonfinite));
  line(out, "reduction", reduction_text(plan.window));
  out << "\n  with every micro-batch" << (plan.canonical_micro ? " (canonical order)" : "") << "\n";
  dump_operations(out, plan.micro, 2);
  out << "\n  once per window" << (plan.canonical_update ? " (canonical order)" : "") << "\n";
  dump_operations(out, plan.update, 2);
}

void dump_objective(std::ostream& out, const plan::Plan& plan) {
  out << "\nobjective: the sum over its terms of weight / N · Σ loss\n";
  for (const plan::LossTerm& term : plan.terms) {
    std::string weight = term.weight == 1 ? "" : number_text(term.weight) + " * ";
    line(out, term.name, weight + component_text(term.component));
    line(out, "", denominator_text(plan.count_classes.at(term.count_class)));
  }
}

void dump_batch(std::ostream& out, const plan::Plan& plan, const std::optional<DataFacts>& facts) {
  const plan::WindowSize& size = plan.window.size;
  const double micro = static_cast<double>(plan.data.micro_batch_samples);
  const double ranks = static_cast<double>(plan.ranks.value_or(1));
  const std::string ranks_text = plan.ranks ? std::to_string(*plan.ranks) : "R";
  std::optional<double> samples;
  if (size.unit == plan::WindowSize::Unit::micro_batches) {
    samples = micro * static_cast<double>(size.value) * ranks;
    line(out, "batch",
         "B = micro × K × R = " + number_text(micro) + " × " + std::to_string(size.value) + " × " +
             ranks_text + " = " + times_ranks(*samples, plan) + " samples per update" +
             (size.ramp ? " at the end of the ramp" : ""));
  } else if (size.unit == plan::WindowSize::Unit::samples) {
    samples = static_cast<double>(size.value);
    line(out, "batch",
         "B = " + number_text(*samples) + " samples per update, over all ranks; K = ⌈B / (" +
             (plan.data.micro_batch_auto ? "micro" : number_text(micro)) + " × " + ranks_text +
             ")⌉ or one more");
  } else {
    line(out, "batch",
         "as many samples as reach " + std::to_string(size.value) + " " + plan::name(size.unit) +
             ", over all ranks");
  }
  const std::optional<double> tokens = tokens_per_sample(plan);
  const bool global = size.unit != plan::WindowSize::Unit::micro_batches;
  if (samples && tokens) {
    const double all = *samples * *tokens;
    line(out, "tokens",
         (global ? number_text(all) : times_ranks(all, plan)) + " per full window: " + number_text(*tokens) +
             " in every sample, none masked");
  } else if (size.unit == plan::WindowSize::Unit::tokens) {
    line(out, "tokens",
         "at least " + std::to_string(size.value) + " per full window: the crossing sample is included");
  } else if (facts && facts->updates_per_epoch > 0) {
    line(out, "tokens",
         "about " +
             number_text(std::round(static_cast<double>(facts->tokens_per_epoch) /
                                    static_cast<double>(facts->updates_per_epoch))) +
             " per window: samples differ in length");
  } else {
    line(out, "tokens", "samples differ in length; --data counts them");
  }
}

void dump_epoch(std::ostream& out, const plan::Plan& plan, const std::optional<DataFacts>& facts) {
  if (!facts) {
    line(out, "epoch", "--data counts samples, updates and what `tail` loses");
    return;
  }
  line(out, "epoch",
       count_text(static_cast<double>(facts->train_samples), "sample") + ", " +
           count_text(static_cast<double>(facts->tokens_per_epoch), "token") + ", " +
           count_text(static_cast<double>(facts->micro_batches_per_epoch), "micro-batch", "micro-batches") +
           ", " + count_text(static_cast<double>(facts->updates_per_epoch), "update"));
  const bool drops =
      plan.window.tail == plan::Tail::drop || plan.data.short_policy == plan::ShortPolicy::drop;
  if (drops)
    line(out, "lost",
         count_text(static_cast<double>(facts->lost_samples_per_epoch), "sample") +
             " per epoch are not trained on");
  if (facts->planned_updates > 0)
    line(out, "horizon", count_text(static_cast<double>(facts->planned_updates), "update"));
}

void dump_memory(std::ostream& out, const plan::Plan& plan, const std::optional<ModelSize>& model_size,
                 const std::optional<DataFacts>& facts) {
  const bool counted = facts && facts->parameters > 0;
  if (!counted && !model_size) {
    line(out, "memory", "the model is the user's own; --data builds it and counts");
    return;
  }
  const double parameters = static_cast<double>(counted ? facts->parameters : model_size->parameters);
  const double trainable =
      static_cast<double>(counted ? facts->trainable_parameters : model_size->parameters);
  const bool lower_bound = !counted && model_size->lower_bound;
  const std::string least = lower_bound ? "at least " : "";
  line(out, "parameters",
       least + number_text(parameters) +
           (lower_bound ? " (parts depend on the data; --data counts them)" : ""));
  const double width = bytes_per_number(plan.dtype);
  const StateCount states = states_per_parameter(plan);
  std::string optimizer = "of unknown size (an update rule of the user's)";
  if (states.known) {
    optimizer = bytes_text(states.least * trainable * width);
    if (states.most != states.least) optimizer += " to " + bytes_text(states.most * trainable * width);
  }
  line(out, "memory",
       least + bytes_text(parameters * width) + " parameters, " + bytes_text(trainable * width) +
           " gradients, " + optimizer + " optimizer state");
}

/// What was found by running a step.
void dump_notes(std::ostream& out, const plan::Plan& plan, const std::optional<DataFacts>& facts) {
  if (!facts) {
    if (plan.data.micro_batch_auto)
      line(out, "note", "--data runs steps and says which micro-batch is taken");
    return;
  }
  for (const std::string& note : facts->notes) line(out, "note", note);
}

void dump_traffic(std::ostream& out, const plan::Plan& plan) {
  const UpdateTraffic traffic = update_traffic(plan);
  plan::Plan written = plan;
  for (plan::Operation& operation : written.update) operation.folded = operation.zeroes = false;
  const UpdateTraffic unfolded = update_traffic(written);
  std::string text = number_text(traffic.most) + " bytes per parameter are read or written";
  if (traffic.least != traffic.most) text = number_text(traffic.least) + " to " + text;
  if (unfolded.most != traffic.most)
    text += ", " + number_text(unfolded.most) + " if each operation passed over memory";
  line(out, "window's end", text);
}

void dump_schedules(std::ostream& out, const plan::Plan& plan, const std::optional<DataFacts>& facts) {
  const std::vector<SchedulePoints> schedules = schedule_points(plan, facts ? facts->planned_updates : 0);
  if (schedules.empty()) return;
  out << "\nschedules\n";
  for (const SchedulePoints& schedule : schedules) {
    line(out, schedule.name, schedule.points);
  }
}

void dump_ends(std::ostream& out, const plan::Plan& plan) {
  out << "\nrun\n";
  std::string stop;
  for (const plan::StopCondition& condition : plan.stop)
    stop += (stop.empty() ? "" : " or ") + stop_text(condition);
  line(out, "stop", stop);
  for (const plan::Evaluation& evaluation : plan.evaluations)
    line(out, "evaluate", evaluation_text(evaluation));
  for (const plan::Average& average : plan.averages) {
    line(out, "average",
         average.name + " = ema(decay: " + plan::to_text(average.decay) + ")" +
             (average.buffers ? ", buffers too" : ""));
  }
  line(out, "checkpoint", plan.checkpoint ? checkpoint_text(*plan.checkpoint) : "off");
  line(out, "log", log_text(plan));
}

}  // namespace

void dump(std::ostream& out, const plan::Plan& plan, const std::optional<ModelSize>& model_size,
          const std::optional<DataFacts>& data_facts) {
  dump_header(out, plan);
  dump_data(out, plan);
  dump_groups(out, plan);
  dump_objective(out, plan);
  dump_window(out, plan);
  out << "\nsizes\n";
  dump_batch(out, plan, data_facts);
  dump_epoch(out, plan, data_facts);
  dump_memory(out, plan, model_size, data_facts);
  dump_notes(out, plan, data_facts);
  dump_traffic(out, plan);
  dump_schedules(out, plan, data_facts);
  dump_ends(out, plan);
}

}  // namespace loop::planner
