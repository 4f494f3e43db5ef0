#include "compiler/sema/update_rules.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/base/text.h"
#include "compiler/sema/scheduling.h"

namespace loop::sema {

using diagnostics::Code;
using plan::Expression;

namespace {

class RuleReader {
 public:
  RuleReader(Context& context, const Definition& definition) : context_(context), definition_(definition) {
    rule_.qualified_name = definition.qualified_name;
    rule_.standard = definition.standard;
    rule_.span = definition.head->name->span;
  }

  std::optional<RuleDefinition> read() {
    const ast::Head& head = *definition_.head;
    if (!head.block) {
      context_.engine.report(Code::L047, head.keyword.span, {"optimizer"});
      return std::nullopt;
    }
    if (head.args)
      for (const ast::Arg& arg : *head.args) parameter(arg);
    // States and `let`s are known before the statements are read, so that a wrong order can be told from a
    // wrong name.
    for (const ast::ItemPtr& item : head.block->items)
      if (const auto* statement = std::get_if<ast::Head>(&item->node)) declare(*statement);
    for (const ast::ItemPtr& item : head.block->items) statement(item);
    finish();
    if (!good_) return std::nullopt;
    return std::move(rule_);
  }

 private:
  void fail() { good_ = false; }

  void parameter(const ast::Arg& arg) {
    RuleDefinition::Parameter parameter;
    if (arg.name) {
      parameter.name = arg.name->text;
      auto scalar = read_scalar(context_, *arg.value);
      if (!scalar || !scalar->constant()) return fail();
      parameter.default_value = *scalar->constant();
      parameter.truth = scalar->truth;
    } else if (auto name = as_name(*arg.value)) {
      parameter.name = *name;
    } else {
      context_.engine.report(Code::L050, arg.span, {"a hyper-parameter's name", describe(*arg.value)});
      return fail();
    }
    if (arg.range) {
      NumericScope scope;
      scope.allow_infinity = true;
      auto low = read_scalar(context_, *arg.range->low, scope);
      auto high = read_scalar(context_, *arg.range->high, scope);
      if (!low || !high) return fail();
      parameter.low = low->constant();
      parameter.high = high->constant();
      parameter.low_closed = arg.range->low_closed;
      parameter.high_closed = arg.range->high_closed;
    }
    if (!names_.insert(parameter.name).second) {
      context_.engine.report(Code::L068, arg.span, {parameter.name});
      return fail();
    }
    rule_.parameters.push_back(std::move(parameter));
  }

  void declare(const ast::Head& head) {
    if (head.keyword.text != "state" && head.keyword.text != "let") {
      // `u = …` without `let` is reported where it stands; those that read it are not wrong beside it.
      if (head.assign == ast::Assign::equals && !head.name) names_.insert(head.keyword.text);
      return;
    }
    if (!head.name) return;
    bool is_state = head.keyword.text == "state";
    static const std::set<std::string> kGiven = {"param", "grad", "step"};
    if (kGiven.count(head.name->text) || !names_.insert(head.name->text).second) {
      context_.engine.report(Code::L036, head.name->span, {head.name->text});
      return fail();
    }
    if (is_state) {
      rule_.states.push_back(head.name->text);
      state_spans_[head.name->text] = head.name->span;
    } else {
      lets_[head.name->text] = head.name->span;
    }
  }

  void statement(const ast::ItemPtr& item) {
    const auto* head = std::get_if<ast::Head>(&item->node);
    const std::string keyword = head ? head->keyword.text : "when";
    if (!head) {
      context_.engine.report(Code::L077, item->span, {keyword});
      return fail();
    }
    if (keyword == "state" && head->name && head->assign == ast::Assign::none) return;
    if (keyword == "needs") return need(*head);
    if (keyword == "let" && head->name && head->assign == ast::Assign::equals) {
      assign(RuleDefinition::Statement::Kind::let, *head->name, *head->value, item->span);
      defined_.insert(head->name->text);
      return;
    }
    if (head->assign == ast::Assign::arrow && !head->name) {
      target(head->keyword);
      assign(RuleDefinition::Statement::Kind::assign, head->keyword, *head->value, item->span);
      return;
    }
    auto& finding = context_.engine.report(Code::L077, head->keyword.span, {keyword});
    if (head->assign == ast::Assign::equals)
      finding.help("write `let " + keyword + " = …` for a value, `" + keyword + " <- …` to change a state");
    fail();
  }

  void need(const ast::Head& head) {
    std::string argument =
        head.args && head.args->size() == 1 ? as_name(*head.args->front().value).value_or("") : "";
    bool known = argument == "param" || argument == "grad" || names_.count(argument) > 0;
    if (!head.name || head.name->text != "norm" || !known) {
      context_.engine.report(Code::L077, head.keyword.span, {"needs"})
          .help("such as `needs norm(param)`: the norm of param, grad, a state or a `let` over each tensor");
      return fail();
    }
    rule_.needs.push_back("norm(" + argument + ")");
  }

  void target(const ast::Name& name) {
    if (name.text == "param") {
      if (writes_param_) {
        context_.engine.report(Code::L076, name.span, {name.text, "it is written already"});
        fail();
      }
      writes_param_ = true;
      return;
    }
    if (std::find(rule_.states.begin(), rule_.states.end(), name.text) != rule_.states.end()) {
      if (!written_states_.insert(name.text).second) {
        context_.engine.report(Code::L076, name.span, {name.text, "it is written already"});
        fail();
      }
      return;
    }
    std::string why = name.text == "grad"       ? "the gradient is read only; use a `let`"
                      : lets_.count(name.text)  ? "a `let` has one value; only `param` and states change"
                      : names_.count(name.text) ? "a hyper-parameter does not change inside a rule"
                                                : "there is no state of that name";
    std::vector<std::string> candidates = rule_.states;
    candidates.emplace_back("param");
    suggest(context_.engine.report(Code::L076, name.span, {name.text, why}), name.span, name.text, candidates,
            false);
    fail();
  }

  void assign(RuleDefinition::Statement::Kind kind, const ast::Name& target, const ast::Expr& value,
              Span span) {
    NumericScope scope;
    scope.variable = [&](const std::string& name, Span place) { return variable(name, place); };
    scope.call = [&](const ast::Call& call, Span place, bool& known) { return norm(call, place, known); };
    scope.names.assign(names_.begin(), names_.end());
    for (const char* given : {"param", "grad", "step"}) scope.names.emplace_back(given);
    auto scalar = read_scalar(context_, value, scope);
    if (!scalar) return fail();
    if (scalar->dim != Dim::none) {
      context_.engine.report(Code::L052, value.span, {"a plain number", describe(*scalar)});
      return fail();
    }
    rule_.statements.push_back({kind, target.text, std::move(scalar->value), span});
  }

  std::optional<Scalar> variable(const std::string& name, Span place) {
    Scalar result{Expression::variable(name), Dim::none, false, false, 1, place};
    if (auto let = lets_.find(name); let != lets_.end() && defined_.count(name) == 0) {
      context_.engine.report(Code::L075, place, {name}).also(let->second, "it gets its value here, later");
      fail();
      return result;
    }
    if (name == "param" || name == "grad" || name == "step" || names_.count(name) > 0) {
      for (const RuleDefinition::Parameter& parameter : rule_.parameters)
        if (parameter.name == name) result.truth = parameter.truth;
      return result;
    }
    return std::nullopt;
  }

  std::optional<Scalar> norm(const ast::Call& call, Span place, bool& known) {
    if (call.callee.dotted() != "norm") return std::nullopt;
    known = true;
    std::string argument = call.args.size() == 1 ? as_name(*call.args.front().value).value_or("") : "";
    if (std::find(rule_.needs.begin(), rule_.needs.end(), "norm(" + argument + ")") == rule_.needs.end()) {
      context_.engine.report(Code::L077, place, {"norm(" + argument + ")"})
          .help("declare it first: `needs norm(" + (argument.empty() ? "grad" : argument) + ")`");
      fail();
      return std::nullopt;
    }
    return Scalar{
        Expression::apply("norm", {Expression::variable(argument)}), Dim::none, false, false, 2, place};
  }

  void finish() {
    for (const std::string& state : rule_.states) {
      if (written_states_.count(state) || !good_) continue;
      context_.engine.report(Code::L078, state_spans_[state], {state})
          .help("write `" + state + " <- …`, or remove the state");
      fail();
    }
    if (!writes_param_ && good_) {
      context_.engine.report(Code::L079, rule_.span, {definition_.name})
          .help("end the rule with `param <- param - lr * …`");
      fail();
    }
  }

  Context& context_;
  const Definition& definition_;
  RuleDefinition rule_;
  std::set<std::string> names_;  // hyper-parameters, states and lets
  std::map<std::string, Span> lets_;
  std::map<std::string, Span> state_spans_;
  std::set<std::string> defined_;
  std::set<std::string> written_states_;
  bool writes_param_ = false;
  bool good_ = true;
};

std::string interval_text(const RuleDefinition::Parameter& parameter) {
  auto bound = [](double value) {
    return std::isinf(value) ? std::string(value < 0 ? "-inf" : "inf") : plan::number_text(value);
  };
  return std::string(parameter.low_closed ? "[" : "(") + bound(*parameter.low) + ", " +
         bound(*parameter.high) + (parameter.high_closed ? "]" : ")");
}

bool in_range(const RuleDefinition::Parameter& parameter, double value) {
  bool above = !parameter.low || (parameter.low_closed ? value >= *parameter.low : value > *parameter.low);
  bool below =
      !parameter.high || (parameter.high_closed ? value <= *parameter.high : value < *parameter.high);
  return above && below;
}

}  // namespace

std::optional<RuleDefinition> read_rule(Context& context, const Definition& definition) {
  return RuleReader(context, definition).read();
}

const Definition* find_optimizer(Context& context, const ast::Name& name) {
  const Definition* found = context.modules.find(name.text, name.span.file);
  if (found && found->kind == Definition::Kind::optimizer) return found;
  if (found) {
    context.engine.report(Code::L065, name.span, {"optimizer", name.text})
        .also(found->head->name->span,
              "`" + name.text + "` is " + sema::name(found->kind) + ", defined here");
    return nullptr;
  }
  const auto& standard = context.modules.standard_names(Definition::Kind::optimizer);
  if (std::find(standard.begin(), standard.end(), name.text) != standard.end()) {
    std::string path = "std.optimizers." + name.text;
    auto& finding = context.engine.report(Code::L064, name.span, {name.text, path});
    finding.fix({"add `use " + path + "`",
                 diagnostics::Certainty::certain,
                 {context.modules.use_edit(name.span.file, path)}});
    return nullptr;
  }
  std::vector<std::string> candidates =
      context.modules.visible_names(Definition::Kind::optimizer, name.span.file);
  candidates.insert(candidates.end(), standard.begin(), standard.end());
  suggest(context.engine.report(Code::L065, name.span, {"optimizer", name.text}), name.span, name.text,
          candidates, false);
  return nullptr;
}

std::optional<std::vector<plan::NamedExpression>> read_hyper_parameters(Context& context,
                                                                        const RuleDefinition& rule,
                                                                        const std::vector<ast::Arg>& args,
                                                                        Span span,
                                                                        std::vector<ScheduleUse>& schedules) {
  std::string short_name = rule.qualified_name.substr(rule.qualified_name.rfind('.') + 1);
  std::vector<std::string> names;
  for (const auto& parameter : rule.parameters) names.push_back(parameter.name);
  NamedArguments matched = match_arguments(context, args, short_name, names, names.size());
  bool good = matched.good;
  std::vector<plan::NamedExpression> result;
  for (size_t i = 0; i < rule.parameters.size(); ++i) {
    const auto& parameter = rule.parameters[i];
    const ast::Arg* arg = matched.values[i];
    if (!arg) {
      if (parameter.default_value) {
        result.push_back({parameter.name, Expression::constant(*parameter.default_value)});
      } else if (matched.good) {
        context.engine.report(Code::L067, span, {parameter.name, short_name});
        good = false;
      }
      continue;
    }
    auto scalar = read_scheduled(context, *arg->value, schedules);
    if (!scalar) {
      good = false;
      continue;
    }
    if (scalar->dim != Dim::none) {
      context.engine.report(Code::L052, arg->value->span,
                            {"a plain number for `" + parameter.name + "`", describe(*scalar)});
      good = false;
      continue;
    }
    if (scalar->truth != parameter.truth) {
      context.engine.report(
          Code::L050, arg->value->span,
          {(parameter.truth ? "`true` or `false` for `" : "a number for `") + parameter.name + "`",
           describe(*scalar)});
      good = false;
      continue;
    }
    if (auto value = scalar->constant(); value && !in_range(parameter, *value)) {
      context.engine.report(Code::L057, arg->value->span,
                            {parameter.name, plan::number_text(*value), interval_text(parameter)});
      good = false;
      continue;
    }
    result.push_back({parameter.name, std::move(scalar->value)});
  }
  if (!good) return std::nullopt;
  return result;
}

}  // namespace loop::sema
