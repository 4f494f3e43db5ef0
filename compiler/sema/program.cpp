#include "compiler/sema/program.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/base/text.h"
#include "compiler/operations/table.h"
#include "compiler/sema/factor.h"
#include "compiler/sema/scheduling.h"
#include "compiler/sema/update_rules.h"
#include "runtime/plan/names.h"

namespace loop::sema {

using diagnostics::Code;
using operations::Arguments;
using operations::Entry;
using plan::OpKind;

namespace {

/// What stands between the parentheses, for messages.
std::string takes(const Entry& entry) {
  switch (entry.arguments) {
    case Arguments::none:
      return "nothing between parentheses";
    case Arguments::optional_mode:
      return "nothing, `mean` or `normalized`";
    case Arguments::mode:
      return entry.kind == OpKind::reduce ? "`sum` or `mean`" : "`last`, `first`, `every` or `none`";
    case Arguments::factor:
      return "a factor, as in `1 / tokens.global`";
    case Arguments::clip:
      return "`norm: x` or `value: x`";
    case Arguments::rule:
      return "a rule, as in `step adamw(lr: 1e-3)`";
    case Arguments::condition:
      return "a condition";
    case Arguments::name:
      return "a name, as in `" + std::string(entry.name) + " NAME`";
  }
  return "";
}

class ProgramReader {
 public:
  ProgramReader(Context& context, const ProgramSurroundings& around, Programs& out)
      : context_(context), around_(around), out_(out) {
    for (const Group& group : *around.groups) groups_.emplace(group.group.name, &group);
  }

  bool read_block(const ast::Head& block, operations::Where where, std::vector<Operation>& operations) {
    where_ = where;
    return read(block.block->items, operations);
  }

 private:
  bool read(const std::vector<ast::ItemPtr>& items, std::vector<Operation>& operations) {
    bool good = true;
    for (const ast::ItemPtr& item : items) {
      Operation operation;
      operation.span = item->span;
      if (const auto* when = std::get_if<ast::When>(&item->node)) {
        good = guard(*when, operation) && good;
      } else if (const auto* head = std::get_if<ast::Head>(&item->node)) {
        good = statement(*head, operation) && good;
      } else {
        context_.engine.report(Code::L085, item->span, {"use"});
        good = false;
      }
      operations.push_back(std::move(operation));
    }
    return good;
  }

  bool wrong_argument(const Entry& entry, Span span, const std::string& why = "") {
    auto& finding = context_.engine.report(Code::L086, span, {std::string(entry.name), takes(entry)});
    if (!why.empty()) finding.help(why);
    return false;
  }

  bool guard(const ast::When& when, Operation& operation) {
    operation.op.kind = OpKind::when;
    operation.name_span = when.condition->span;
    operation.argument_span = when.condition->span;
    NumericScope scope;
    scope.variable = [this](const std::string& name, Span span) { return condition_name(name, span); };
    scope.names = {"first", "last", "finite"};
    for (const plan::CountClass& count : *around_.count_classes)
      for (const char* part : {".global", ".rank", ".micro"})
        scope.names.push_back(plan::name(count.unit) + std::string(part));
    for (const std::string& clock : clock_names()) scope.names.push_back(clock);
    auto condition = read_scalar(context_, *when.condition, scope);
    bool good = condition.has_value();
    if (condition && !condition->truth) {
      context_.engine.report(Code::L050, when.condition->span, {"a condition", describe(*condition)})
          .help("such as `finite`, `last` or `updates > 100`");
      good = false;
    }
    if (condition) operation.op.condition = condition->value;
    return read(when.body.items, operation.body) && good;
  }

  std::optional<Scalar> condition_name(const std::string& name, Span span) {
    Scalar result{plan::Expression::variable(name), Dim::none, false, false, 1, span};
    if (name == "first" || name == "last" || name == "finite") {
      result.truth = true;
      return result;
    }
    if (auto clock = find_clock(name)) {
      result.dim = dim_of(*clock);
      return result;
    }
    if (auto count = as_count(name)) {
      if (!find_count_class(context_, count->unit, span, *around_.count_classes))
        return Scalar{plan::Expression::constant(0), Dim::none, false, true, 1, span};
      return result;
    }
    return std::nullopt;
  }

  bool statement(const ast::Head& head, Operation& operation) {
    std::vector<const Entry*> entries = operations::find(head.keyword.text);
    operation.name_span = head.keyword.span;
    operation.argument_span = head.args ? head.args_span : head.keyword.span;
    if (entries.empty()) {
      auto& finding = context_.engine.report(Code::L085, head.keyword.span, {head.keyword.text});
      if (head.keyword.text == "skip_if" || head.keyword.text == "clamp")
        finding.help("it is in the language's plan, and not in the language yet");
      else
        suggest(finding, head.keyword.span, head.keyword.text, operations::names(), false);
      return false;
    }
    const Entry& entry = *entries.front();
    operation.op.kind = entry.kind;
    bool good = true;
    if (head.assign != ast::Assign::none || head.extends) {
      wrong_argument(entry, operation.span, "an operation is written alone: no `=`, no `<-`");
      good = false;
    }
    bool wants_name = entry.arguments == Arguments::rule || entry.arguments == Arguments::name;
    if (head.name && !wants_name) return wrong_argument(entry, head.name->span);
    if (head.args && (entry.arguments == Arguments::none || entry.arguments == Arguments::name))
      return wrong_argument(entry, head.args_span);
    good = clauses(head, entry, operation) && good;
    if (entry.encloses != head.block.has_value()) {
      context_.engine.report(
          Code::L087, head.keyword.span,
          {head.keyword.text,
           entry.encloses ? "encloses others: `" + head.keyword.text + " { … }`" : "encloses nothing"});
      return false;
    }
    good = in_its_block(entry, head.keyword.span) && good;
    good = arguments(head, entry, operation) && good;
    if (head.block) good = read(head.block->items, operation.body) && good;
    return good;
  }

  bool in_its_block(const Entry& entry, Span span) {
    if (where_ != operations::Where::update || entry.where != operations::Where::micro) return true;
    context_.engine.report(Code::L098, span, {std::string(entry.name)})
        .help("write it in `micro { … }`, which runs once for every micro-batch of the window");
    return false;
  }

  bool clauses(const ast::Head& head, const Entry& entry, Operation& operation) {
    bool good = true;
    for (const ast::Clause& clause : head.clauses) {
      if (clause.kind != ast::ClauseKind::on || !entry.takes_groups) {
        good = wrong_argument(
            entry, clause.span,
            clause.kind == ast::ClauseKind::when ? "write `when CONDITION { … }` around it" : "");
        continue;
      }
      for (const ast::Name& name : clause.names) good = group(name, operation) && good;
    }
    return good;
  }

  bool group(const ast::Name& name, Operation& operation) {
    const auto at = groups_.find(name.text);
    if (at == groups_.end()) {
      std::vector<std::string> names;
      for (const Group& group : *around_.groups) names.push_back(group.group.name);
      auto& finding = context_.engine.report(Code::L095, name.span, {name.text});
      suggest(finding, name.span, name.text, names);
      return false;
    }
    const Group& found = *at->second;
    if (found.group.frozen) {
      context_.engine.report(Code::L096, name.span, {name.text}).also(found.span, "frozen here");
      return false;
    }
    if (std::find(operation.op.groups.begin(), operation.op.groups.end(), name.text) !=
        operation.op.groups.end()) {
      context_.engine.report(Code::L097, name.span, {name.text}).help("name it once");
      return false;
    }
    operation.op.groups.push_back(name.text);
    return true;
  }

  bool arguments(const ast::Head& head, const Entry& entry, Operation& operation) {
    switch (entry.arguments) {
      case Arguments::none:
      case Arguments::condition:
        return true;
      case Arguments::optional_mode:
        return !head.args || head.args->empty() || mode(head, entry, operation);
      case Arguments::mode:
        return mode(head, entry, operation);
      case Arguments::factor:
        return factor(head, entry, operation);
      case Arguments::clip:
        return clip(head, entry, operation);
      case Arguments::rule:
        return rule(head, entry, operation);
      case Arguments::name:
        return name(head, entry, operation);
    }
    return true;
  }

  bool mode(const ast::Head& head, const Entry& entry, Operation& operation) {
    if (!head.args || head.args->size() != 1 || head.args->front().name)
      return wrong_argument(entry, operation.argument_span);
    const ast::Expr& value = *head.args->front().value;
    auto written = as_name(value);
    if (!written) return wrong_argument(entry, value.span);
    auto pick = [&](auto& target) {
      for (const auto& [known, spelled] : plan::spellings(target)) {
        if (*written != spelled) continue;
        target = known;
        return true;
      }
      return wrong_argument(entry, value.span);
    };
    if (entry.kind == OpKind::loss)
      return *written != "sum" ? pick(operation.op.loss_mode)
                               : wrong_argument(entry, value.span, "`loss` alone is the sum");
    if (entry.kind == OpKind::reduce) return pick(operation.op.reduce_mode);
    return pick(operation.op.sync_on);
  }

  bool factor(const ast::Head& head, const Entry& entry, Operation& operation) {
    if (!head.args || head.args->size() != 1 || head.args->front().name)
      return wrong_argument(entry, operation.argument_span);
    auto read = read_factor(context_, *head.args->front().value, around_, std::string(entry.name));
    if (!read) return false;
    operation.op.factor = std::move(*read);
    return true;
  }

  bool clip(const ast::Head& head, const Entry& entry, Operation& operation) {
    if (!head.args || head.args->size() != 1 || !head.args->front().name)
      return wrong_argument(entry, operation.argument_span, "such as `clip(norm: 1.0)`");
    const ast::Arg& arg = head.args->front();
    if (arg.name->text != "norm" && arg.name->text != "value") {
      auto& finding = context_.engine.report(Code::L066, arg.name->span, {arg.name->text, "clip"});
      suggest(finding, arg.name->span, arg.name->text, {"norm", "value"});
      return false;
    }
    operation.op.kind = arg.name->text == "norm" ? OpKind::clip_norm : OpKind::clip_value;
    if (as_name(*arg.value) == "inf") {
      context_.engine.report(Code::L059, arg.value->span, {"inf"})
          .help(
              "a threshold is finite; without `clip` the gradient is left as it is, and the log still has "
              "its norm");
      return false;
    }
    auto limit = read_scheduled(context_, *arg.value, out_.schedules);
    if (!limit) return false;
    if (limit->dim != Dim::none) {
      context_.engine.report(Code::L052, arg.value->span,
                             {"a plain number for `" + arg.name->text + "`", describe(*limit)});
      return false;
    }
    if (auto value = limit->constant(); value && *value <= 0) {
      context_.engine.report(Code::L057, arg.value->span,
                             {arg.name->text, plan::number_text(*value), "(0, inf)"});
      return false;
    }
    operation.op.limit = std::move(limit->value);
    return true;
  }

  bool rule(const ast::Head& head, const Entry& entry, Operation& operation) {
    if (!head.name) return wrong_argument(entry, head.keyword.span);
    const Definition* definition = find_optimizer(context_, *head.name);
    if (!definition) return false;
    auto known = std::find_if(out_.rules.begin(), out_.rules.end(), [&](const RuleDefinition& one) {
      return one.qualified_name == definition->qualified_name;
    });
    if (known == out_.rules.end()) {
      auto read = read_rule(context_, *definition);
      if (!read) return false;
      out_.rules.push_back(std::move(*read));
      known = std::prev(out_.rules.end());
    }
    operation.op.rule.optimizer = known->qualified_name;
    auto hyper = read_hyper_parameters(context_, *known, head.args ? *head.args : std::vector<ast::Arg>{},
                                       base::join(head.keyword.span, head.name->span), out_.schedules);
    if (!hyper) return false;
    operation.op.rule.hyper = std::move(*hyper);
    return true;
  }

  bool name(const ast::Head& head, const Entry& entry, Operation& operation) {
    if (!head.name) return wrong_argument(entry, head.keyword.span);
    operation.op.target = head.name->text;
    operation.argument_span = head.name->span;
    std::vector<std::string> candidates;
    if (entry.kind == OpKind::tick)
      candidates = clock_names();
    else
      for (const Average& average : *around_.averages) candidates.push_back(average.average.name);
    if (std::find(candidates.begin(), candidates.end(), head.name->text) != candidates.end()) return true;
    auto& finding = context_.engine.report(
        Code::L065, head.name->span, {entry.kind == OpKind::tick ? "clock" : "average", head.name->text});
    suggest(finding, head.name->span, head.name->text, candidates);
    return false;
  }

  Context& context_;
  const ProgramSurroundings& around_;
  Programs& out_;
  operations::Where where_ = operations::Where::micro;         // the block that is read
  std::unordered_map<std::string_view, const Group*> groups_;  // by name: a loop may have thousands
};

bool only_steps(const std::vector<Operation>& operations) {
  return !operations.empty() &&
         std::all_of(operations.begin(), operations.end(),
                     [](const Operation& operation) { return operation.op.kind == OpKind::step; });
}

}  // namespace

std::optional<Programs> read_programs(Context& context, const ast::Head* micro, const ast::Head* update,
                                      const ProgramSurroundings& around, Span loop_name) {
  Programs result;
  ProgramReader reader(context, around, result);
  const size_t errors_before = context.engine.error_count();
  bool good = true;
  if (micro) {
    result.micro.written = true;
    result.micro.span = micro->keyword.span;
    good = reader.read_block(*micro, operations::Where::micro, result.micro.operations);
  } else {
    result.micro = canonical_micro(around, loop_name);
  }
  if (!update) return std::nullopt;
  std::vector<Operation> operations;
  good = reader.read_block(*update, operations::Where::update, operations) && good;
  // What has a meaning error cannot be judged for its order.
  if (!good || context.engine.error_count() > errors_before) return std::nullopt;
  if (operations.empty()) {
    context.engine.report(Code::L043, update->keyword.span, {"a step", "update"})
        .help("such as `step adamw(lr: 1e-3)`: without one no parameter ever changes");
    return std::nullopt;
  }
  if (only_steps(operations)) {
    result.update = completed_update(around, std::move(operations), update->keyword.span, loop_name);
  } else {
    result.update.operations = std::move(operations);
    result.update.span = update->keyword.span;
  }
  result.update.written = true;
  return result;
}

}  // namespace loop::sema
