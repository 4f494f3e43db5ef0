#include "compiler/plan/dump_parts.h"

#include <cmath>

#include "runtime/plan/names.h"

namespace loop::planner {
namespace {

std::string json_text(const plan::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return number_text(value.get<double>());
  if (value.is_array()) {
    std::string text;
    for (const plan::json& element : value) text += (text.empty() ? "" : ", ") + json_text(element);
    return "[" + text + "]";
  }
  if (value.is_object() && value.contains("call")) {
    std::string text;
    for (const plan::json& argument : value.value("args", plan::json::array())) {
      text += (text.empty() ? "" : ", ") + json_text(argument);
    }
    return value["call"].get<std::string>() + "(" + text + ")";
  }
  if (value.is_object() && value.contains("unit"))
    return json_text(value["value"]) + " " + json_text(value["unit"]);
  return value.dump();
}

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

}  // namespace

std::string number_text(double value) {
  // Values of schedules are shown to six digits; counts below 1e15 stay whole.
  if (std::abs(value) < 1e15 && value == std::floor(value))
    return plan::to_text(plan::Expression::constant(value));
  if (value == 0 || !std::isfinite(value)) return plan::to_text(plan::Expression::constant(value));
  const double scale = std::pow(10.0, 5 - std::floor(std::log10(std::abs(value))));
  return plan::to_text(plan::Expression::constant(std::round(value * scale) / scale));
}

std::string count_text(double count, const std::string& one, const std::string& many) {
  return number_text(count) + " " + (count == 1 ? one : many.empty() ? one + "s" : many);
}

std::string bytes_text(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  const double rounded = bytes < 10 ? std::round(bytes * 100) / 100 : std::round(bytes * 10) / 10;
  return number_text(rounded) + " " + kUnits[unit];
}

std::string times_ranks(double per_rank_or_all, const plan::Plan& plan) {
  return number_text(per_rank_or_all) + (plan.ranks ? "" : " × R");
}

std::string component_text(const plan::Component& component) {
  std::vector<std::string> arguments;
  for (const auto& [name, value] : component.args.items())
    arguments.push_back(name + ": " + json_text(value));
  return component.name + "(" + joined(arguments, ", ") + ")";
}

std::string predicate_text(const plan::Predicate& predicate) {
  using Kind = plan::Predicate::Kind;
  std::vector<std::string> parts;
  for (const plan::Predicate& operand : predicate.operands) parts.push_back(predicate_text(operand));
  switch (predicate.kind) {
    case Kind::all:
      return "all parameters";
    case Kind::others:
      return "all others";
    case Kind::name_glob:
      return "named " + predicate.glob;
    case Kind::ndim:
      return "ndim " + predicate.comparison + " " + std::to_string(predicate.ndim);
    case Kind::logical_and:
      return joined(parts, " and ");
    case Kind::logical_or:
      return "(" + joined(parts, " or ") + ")";
    case Kind::logical_not:
      return "not (" + joined(parts, "") + ")";
  }
  return "";
}

std::string trigger_text(const plan::Trigger& trigger) {
  if (trigger.clock == plan::Clock::seconds) {
    if (trigger.value >= 3600) return number_text(trigger.value / 3600) + " h";
    if (trigger.value >= 60) return number_text(trigger.value / 60) + " min";
    return number_text(trigger.value) + " s";
  }
  return number_text(trigger.value) + " " + plan::name(trigger.clock);
}

std::string triggers_text(const std::vector<plan::Trigger>& triggers) {
  std::vector<std::string> words;
  for (const plan::Trigger& trigger : triggers) words.push_back(trigger_text(trigger));
  return joined(words, " or ");
}

std::string window_size_text(const plan::WindowSize& size) {
  const bool per_rank = size.unit == plan::WindowSize::Unit::micro_batches;
  std::string text =
      std::to_string(size.value) + " " + plan::name(size.unit) + (per_rank ? " per rank" : " over all ranks");
  if (size.ramp) {
    text = std::to_string(size.ramp->from) + " to " + text + ", growing over " +
           number_text(size.ramp->over) + " " + plan::name(size.ramp->over_clock);
  }
  return text;
}

std::string tail_text(plan::Tail tail) {
  switch (tail) {
    case plan::Tail::flush:
      return "flush: the short window at an epoch's end is applied, divided by its own count";
    case plan::Tail::carry:
      return "carry: a window goes on in the next epoch";
    case plan::Tail::drop:
      return "drop: micro-batches that do not fill a window are not trained on";
  }
  return "";
}

std::string nonfinite_text(const plan::Nonfinite& nonfinite) {
  if (nonfinite.action == plan::NonfiniteAction::stop) return "a gradient that is not finite ends the run";
  return "the update is skipped, at most " + std::to_string(nonfinite.limit) + " in a row";
}

std::string reduction_text(const plan::Window& window) {
  std::string mode = window.reduce == plan::ReduceMode::sum ? "sum over ranks" : "mean over ranks";
  if (window.compress == plan::Compression::bf16) mode += ", rounded to bf16";
  switch (window.sync) {
    case plan::Sync::last:
      return mode + ", with the last micro-batch";
    case plan::Sync::every:
      return mode + ", with every micro-batch";
    case plan::Sync::manual:
      return "where `reduce` stands";
  }
  return "";
}

std::string denominator_text(const plan::CountClass& count_class) {
  const std::string over = " of the window, over all ranks";
  std::string text;
  switch (count_class.unit) {
    case plan::CountUnit::tokens:
      text = "N = counted tokens" + over;
      break;
    case plan::CountUnit::samples:
      text = "N = samples" + over;
      break;
    case plan::CountUnit::positions:
      text = "N = positions" + over + ", padding included";
      break;
    case plan::CountUnit::boxes:
      text = "N = boxes" + over;
      break;
    case plan::CountUnit::class_weight:
      text = "N = sum of the targets' class weights" + over;
      break;
    case plan::CountUnit::constant:
      text = "N = " + number_text(count_class.constant) + ", a constant";
      break;
    case plan::CountUnit::window:
      text = "N = 1: a sum over the window and all ranks";
      break;
    case plan::CountUnit::micro_batch:
      text = "N = micro-batches that are not empty" + over + "; the loss is each one's mean";
      break;
  }
  if (count_class.at_least) text += ", at least " + plan::to_text(*count_class.at_least);
  if (count_class.ignore)
    text += "; targets equal to " + std::to_string(*count_class.ignore) + " are not counted";
  return text;
}

std::string operation_text(const plan::Operation& operation) {
  plan::Operation shown = operation;
  for (plan::NamedExpression& hyper : shown.rule.hyper) {
    if (hyper.value.kind != plan::Expression::Kind::constant)
      hyper.value = plan::Expression::variable("scheduled");
  }
  return plan::to_text(shown);
}

std::string fold_text(const plan::Operation& operation) {
  if (operation.zeroes) return "leaves zeros in the gradient";
  if (!operation.folded) return "";
  switch (operation.kind) {
    case plan::OpKind::zero_grad:
      return "done by the steps, unless they are skipped";
    case plan::OpKind::clip_norm:
    case plan::OpKind::unscale:
      return "looks at the gradient; the factor is folded into the step";
    default:
      return "folded into the step";
  }
}

std::string stop_text(const plan::StopCondition& stop) {
  if (stop.kind == plan::StopCondition::Kind::reached) return trigger_text(stop.limit);
  return stop.metric + " no better for " + count_text(stop.patience_evaluations, "evaluation");
}

std::string evaluation_text(const plan::Evaluation& evaluation) {
  std::vector<std::string> when;
  if (evaluation.at_start) when.emplace_back("at the start");
  if (!evaluation.every.empty()) when.push_back("every " + triggers_text(evaluation.every));
  if (evaluation.at_end) when.emplace_back("at the end");
  std::string text = evaluation.name + ": " + joined(evaluation.metrics, ", ") + " on " + evaluation.source;
  if (evaluation.with != "model") text += " with " + evaluation.with;
  if (!when.empty()) text += ", " + joined(when, ", ");
  if (evaluation.limit_micro_batches) {
    text += ", at most " +
            count_text(static_cast<double>(*evaluation.limit_micro_batches), "micro-batch", "micro-batches");
  }
  return text;
}

std::string checkpoint_text(const plan::Checkpoint& checkpoint) {
  std::string text = checkpoint.path;
  if (!checkpoint.every.empty()) text += ", every " + triggers_text(checkpoint.every);
  if (checkpoint.on_signal) text += ", on a signal";
  if (checkpoint.keep.last) text += ", the last " + std::to_string(*checkpoint.keep.last) + " are kept";
  if (!checkpoint.keep.best_metric.empty()) text += ", and the best by " + checkpoint.keep.best_metric;
  return text;
}

std::string log_text(const plan::Plan& plan) {
  if (!plan.log.enabled) return "off";
  const std::string path = plan.log.path.empty() ? "runs/" + plan.loop_name : plan.log.path;
  return path + ", every " + (plan.log.every.empty() ? "update" : triggers_text(plan.log.every));
}

std::optional<double> tokens_per_sample(const plan::Plan& plan) {
  for (const plan::Source& source : plan.data.sources) {
    if (source.name != plan.data.train) continue;
    // These two cut one stream into sequences of one length; other sources take samples as they come.
    if (source.component.name != "text" && source.component.name != "bin") return std::nullopt;
    const auto length = source.component.args.find("length");
    if (length != source.component.args.end() && length->is_number()) return length->get<double>();
    const auto context = plan.model.args.find("context");
    if (context != plan.model.args.end() && context->is_number()) return context->get<double>();
  }
  return std::nullopt;
}

}  // namespace loop::planner
