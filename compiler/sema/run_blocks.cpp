// stop, evaluate, checkpoint: when things happen and what is measured.
#include <algorithm>

#include "compiler/base/text.h"
#include "compiler/sema/settings.h"

namespace loop::sema {

using diagnostics::Code;

namespace {

std::vector<std::string> names_in(const ast::Expr& expr) {
  std::vector<std::string> result;
  if (const auto* list = std::get_if<ast::List>(&ast::strip(expr).node)) {
    for (const ast::ExprPtr& element : list->elements) result.push_back(as_name(*element).value_or(""));
  } else if (auto name = as_name(expr)) {
    result.push_back(*name);
  }
  return result;
}

const ast::Expr& element_of(const ast::Expr& expr, size_t index) {
  if (const auto* list = std::get_if<ast::List>(&ast::strip(expr).node)) return *list->elements[index];
  return expr;
}

/// A list of names out of `choices`, or one of them alone.
std::vector<std::string> read_names(Context& context, const ast::Expr& expr, const std::string& what,
                                    const std::vector<std::string>& choices) {
  std::vector<std::string> result;
  std::vector<std::string> names = names_in(expr);
  if (names.empty() && !std::holds_alternative<ast::List>(ast::strip(expr).node)) {
    context.engine.report(Code::L050, expr.span, {"a list of names for `" + what + "`", describe(expr)});
    return result;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    auto choice = read_choice(context, element_of(expr, i), what, choices);
    if (!choice) continue;
    if (std::find(result.begin(), result.end(), *choice) == result.end()) result.push_back(*choice);
  }
  return result;
}

void read_evaluation(Context& context, const ast::Head& head, const std::vector<std::string>& metrics,
                     Spec& spec) {
  Evaluation result;
  plan::Evaluation& evaluation = result.evaluation;
  evaluation.name = head.name->text;
  result.span = head.name->span;
  result.every_span = result.span;
  result.metrics_span = result.span;
  BlockReader reader(context, evaluate_table(), head.block->items, head_span(head));

  std::vector<std::string> sources;
  for (const SourceUse& source : spec.data.sources) sources.push_back(source.source.name);
  if (const ast::Head* on = reader.find("on")) {
    auto name = as_name(*on->value);
    if (name && std::find(sources.begin(), sources.end(), *name) != sources.end())
      evaluation.source = *name;
    else if (name)
      suggest(context.engine.report(Code::L065, on->value->span, {"source in `data`", *name}),
              on->value->span, *name, sources);
    else
      context.engine.report(Code::L050, on->value->span,
                            {"the name of a source in `data`", describe(*on->value)});
  } else {
    reader.missing("on", sources.empty() ? std::vector<std::string>{}
                                         : std::vector<std::string>{"the sources are " +
                                                                    base::enumerate(sources, " and ")});
  }
  if (const ast::Head* every = reader.find("every")) {
    evaluation.every = read_triggers(context, *every->value, "every");
    result.every_span = every->value->span;
  }
  if (const ast::Head* limit = reader.find("limit"))
    if (auto quantity = read_quantity(context, *limit->value, "limit", {Dim::micro_batches}))
      evaluation.limit_micro_batches = static_cast<int64_t>(quantity->value);
  std::vector<std::string> choices = {"loss"};
  choices.insert(choices.end(), metrics.begin(), metrics.end());
  if (const ast::Head* list = reader.find("metrics")) {
    evaluation.metrics = read_names(context, *list->value, "metrics", choices);
    result.metrics_span = list->value->span;
  } else {
    evaluation.metrics = {"loss"};
  }
  if (const ast::Head* also = reader.find("also")) {
    for (const std::string& moment : read_names(context, *also->value, "also", {"start", "end"}))
      (moment == "start" ? evaluation.at_start : evaluation.at_end) = true;
  }
  if (evaluation.every.empty() && !evaluation.at_start) evaluation.at_end = true;
  if (const ast::Head* with = reader.find("with")) {
    std::vector<std::string> models = {"model"};
    for (const Average& average : spec.averages) models.push_back(average.average.name);
    if (auto choice = read_choice(context, *with->value, "with", models)) evaluation.with = *choice;
  }
  if (!evaluation.source.empty()) spec.evaluations.push_back(std::move(result));
}

bool read_keep(Context& context, const ast::Expr& expr, plan::Keep& keep, const Spec& spec) {
  const ast::Expr& inner = ast::strip(expr);
  if (const auto* binary = std::get_if<ast::Binary>(&inner.node); binary && binary->op == ast::BinaryOp::add)
    return read_keep(context, *binary->left, keep, spec) && read_keep(context, *binary->right, keep, spec);
  if (as_name(inner) == "all") return true;
  const ast::Call* call = as_call(inner);
  std::string name = call ? call->callee.dotted() : "";
  if (!call || (name != "last" && name != "best") || call->args.size() != 1 || call->args[0].name) {
    context.engine.report(Code::L050, inner.span,
                          {std::string(find_key(checkpoint_table(), "keep")->takes), describe(inner)});
    return false;
  }
  const ast::Expr& value = *call->args[0].value;
  bool repeated = name == "last" ? keep.last.has_value() : !keep.best_metric.empty();
  if (repeated) {
    context.engine.report(Code::L068, inner.span, {name});
    return false;
  }
  if (name == "last") {
    auto count = read_whole(context, value, "last", 1);
    if (count) keep.last = *count;
    return count.has_value();
  }
  auto metric = as_name(value);
  if (!metric) {
    context.engine.report(Code::L050, value.span, {"a measurement, as in `held_out.loss`", describe(value)});
    return false;
  }
  if (!check_metric(context, *metric, value.span, spec)) return false;
  keep.best_metric = *metric;
  return true;
}

}  // namespace

bool check_metric(Context& context, const std::string& metric, Span span, const Spec& spec) {
  size_t dot = metric.find('.');
  std::string evaluation = metric.substr(0, dot);
  std::vector<std::string> measured;
  for (const Evaluation& one : spec.evaluations)
    for (const std::string& name : one.evaluation.metrics)
      measured.push_back(one.evaluation.name + "." + name);
  if (std::find(measured.begin(), measured.end(), metric) != measured.end()) return true;
  auto& finding = context.engine.report(Code::L065, span, {"measurement", metric});
  if (spec.evaluations.empty())
    finding.help("add an evaluation: `evaluate held_out { on = valid; every = 200 updates }`");
  else
    suggest(finding, span, metric, measured);
  return false;
}

void read_evaluations(Context& context, const BlockReader& loop, const std::vector<std::string>& metrics,
                      Spec& spec) {
  for (const ast::Head* head : loop.named("evaluate")) read_evaluation(context, *head, metrics, spec);
}

void read_checkpoint(Context& context, const ast::Head* head, Span place, Spec& spec) {
  spec.checkpoint.span = place;
  if (!head) return;
  spec.checkpoint.span = head->keyword.span;
  spec.checkpoint.written = true;
  if (head->value) {
    read_choice(context, *head->value, "checkpoint", {"off"});
    return;
  }
  BlockReader reader(context, checkpoint_table(), head->block->items, head->keyword.span);
  plan::Checkpoint checkpoint;
  if (const ast::Head* path = reader.find("path")) {
    if (auto text = read_text(context, *path->value, "path")) checkpoint.path = *text;
  } else {
    reader.missing("path", {"such as `path = \"runs/" + spec.name + "/ckpt\"`"});
  }
  if (const ast::Head* every = reader.find("every"))
    checkpoint.every = read_triggers(context, *every->value, "every");
  else
    reader.missing("every", {"such as `every = 500 updates or 10 min`: what a crash can cost"});
  if (const ast::Head* keep = reader.find("keep")) read_keep(context, *keep->value, checkpoint.keep, spec);
  if (const ast::Head* on_signal = reader.find("on_signal"))
    if (auto value = read_boolean(context, *on_signal->value, "on_signal")) checkpoint.on_signal = *value;
  spec.checkpoint.value = std::move(checkpoint);
}

bool read_stop(Context& context, const ast::Expr& expr, Spec& spec) {
  static const std::vector<Dim> kBounds = {Dim::updates,       Dim::epochs,       Dim::tokens,
                                           Dim::samples,       Dim::seconds,      Dim::attempts,
                                           Dim::micro_batches, Dim::samples_seen, Dim::tokens_seen};
  spec.stop_span = expr.span;
  bool good = true;
  for (const ast::Expr* part : alternatives(expr)) {
    StopCondition condition;
    condition.span = part->span;
    const ast::Call* call = as_call(*part);
    if (!call || call->callee.dotted() != "no_better") {
      auto limit = read_quantity(context, *part, "stop", kBounds);
      if (limit)
        condition.condition.limit = {*clock_of(limit->dim), limit->value};
      else
        good = false;
      if (limit) spec.stop.push_back(std::move(condition));
      continue;
    }
    condition.condition.kind = plan::StopCondition::Kind::no_better;
    NamedArguments matched = match_arguments(context, call->args, "no_better", {"metric", "for"}, 1);
    if (!matched.good || !matched.values[0] || !matched.values[1]) {
      if (matched.good)
        context.engine.report(Code::L067, part->span, {matched.values[0] ? "for" : "metric", "no_better"})
            .help("such as `no_better(held_out.loss, for: 10 evaluations)`");
      good = false;
      continue;
    }
    auto metric = as_name(*matched.values[0]->value);
    auto patience = read_quantity(context, *matched.values[1]->value, "for", {Dim::evaluations});
    if (!metric)
      context.engine.report(Code::L050, matched.values[0]->value->span,
                            {"a measurement, as in `held_out.loss`", describe(*matched.values[0]->value)});
    if (!metric || !patience || !check_metric(context, *metric, matched.values[0]->value->span, spec)) {
      good = false;
      continue;
    }
    condition.condition.metric = *metric;
    condition.condition.patience_evaluations = patience->value;
    spec.stop.push_back(std::move(condition));
  }
  return good;
}

}  // namespace loop::sema
