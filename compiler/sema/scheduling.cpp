// before: warmup_cosine(peak: 2e-3, warmup: 10%, total: horizon)
// after:  if updates < 0.1 * horizon then 0.002 * (updates + 1) / (0.1 * horizon) else …
#include "compiler/sema/scheduling.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/base/text.h"
#include "compiler/sema/values.h"

namespace loop::sema {

using diagnostics::Code;
using plan::Expression;

namespace {

struct Parameter {
  std::string name;
  ast::ExprPtr fallback;
};

std::vector<Parameter> parameters_of(const Definition& schedule) {
  std::vector<Parameter> result;
  if (!schedule.head->args) return result;
  for (const ast::Arg& arg : *schedule.head->args) {
    if (arg.name)
      result.push_back({arg.name->text, arg.value});
    else
      result.push_back({as_name(*arg.value).value_or(""), nullptr});
  }
  return result;
}

/// Finds which parameters of a schedule are places on its clock (powers of the clock's unit), by the rule
/// that both sides of
/// `+ - < min …` carry the same power. A bare number fits any.
class ClockPowers {
 public:
  ClockPowers(Context& context, const Definition& schedule, int depth = 0)
      : context_(context), depth_(depth) {
    for (const Parameter& parameter : parameters_of(schedule)) powers_[parameter.name] = std::nullopt;
    if (powers_.count("clock")) powers_["clock"] = 1;
    if (!schedule.head->value) return;
    for (int round = 0; round < 3; ++round) power(*schedule.head->value, std::nullopt);
    // What nothing else decides: a place divided by a parameter is a fraction, as in `clock / total`.
    divides_to_fraction_ = true;
    for (int round = 0; round < 3; ++round) power(*schedule.head->value, std::nullopt);
  }
  bool is_place(const std::string& name) const {
    auto found = powers_.find(name);
    return found != powers_.end() && found->second == 1;
  }

 private:
  using Power = std::optional<int>;

  Power same(const std::vector<const ast::Expr*>& sides, Power expected) {
    for (int round = 0; round < 2; ++round)
      for (const ast::Expr* side : sides)
        if (Power found = power(*side, expected); found && !expected) expected = found;
    return expected;
  }

  Power power(const ast::Expr& expr, Power expected) {
    if (const auto* inner = std::get_if<ast::Parenthesized>(&expr.node))
      return power(*inner->inner, expected);
    if (const auto* unary = std::get_if<ast::Unary>(&expr.node)) return power(*unary->operand, expected);
    if (const auto* path = std::get_if<ast::Path>(&expr.node)) {
      auto found = powers_.find(path->dotted());
      if (found == powers_.end()) return std::nullopt;
      if (!found->second) found->second = expected;
      return found->second;
    }
    if (const auto* choice = std::get_if<ast::Conditional>(&expr.node)) {
      power(*choice->condition, std::nullopt);
      return same({choice->then_value.get(), choice->else_value.get()}, expected);
    }
    if (const auto* call = std::get_if<ast::Call>(&expr.node)) {
      std::string name = call->callee.dotted();
      const Definition* other = context_.modules.find(name, call->callee.span.file);
      if (other && other->kind == Definition::Kind::schedule) return of_schedule(*call, *other);
      bool keeps = name == "min" || name == "max" || name == "abs" || name == "mod";
      std::vector<const ast::Expr*> sides;
      for (const ast::Arg& arg : call->args) sides.push_back(arg.value.get());
      if (keeps) return same(sides, expected);
      for (const ast::Expr* side : sides) power(*side, std::nullopt);
      return 0;
    }
    if (const auto* binary = std::get_if<ast::Binary>(&expr.node)) return of_binary(*binary, expected);
    return std::nullopt;
  }

  /// Lengths handed on to another schedule are lengths here too.
  Power of_schedule(const ast::Call& call, const Definition& other) {
    constexpr int kMaxDepth = 8;
    if (depth_ >= kMaxDepth) return 0;
    ClockPowers inner(context_, other, depth_ + 1);
    for (const ast::Arg& arg : call.args)
      if (arg.name) power(*arg.value, inner.is_place(arg.name->text) ? 1 : 0);
    return 0;
  }

  bool is_bare_number(const ast::Expr& expr) const {
    const ast::Expr& inner = ast::strip(expr);
    if (const auto* path = std::get_if<ast::Path>(&inner.node)) return powers_.count(path->dotted()) == 0;
    return std::holds_alternative<ast::Number>(inner.node);
  }

  Power of_binary(const ast::Binary& binary, Power expected) {
    switch (binary.op) {
      case ast::BinaryOp::add:
      case ast::BinaryOp::subtract:
        return same({binary.left.get(), binary.right.get()}, expected);
      case ast::BinaryOp::multiply:
      case ast::BinaryOp::divide: {
        int sign = binary.op == ast::BinaryOp::multiply ? 1 : -1;
        Power left = power(*binary.left, std::nullopt);
        Power right = power(*binary.right, std::nullopt);
        // A number that multiplies a length is no length: `pi * clock / total`.
        if (!left && is_bare_number(*binary.left)) left = 0;
        if (!right && is_bare_number(*binary.right)) right = 0;
        if (divides_to_fraction_ && sign < 0 && left && !right) right = power(*binary.right, left);
        if (left && right) return *left + sign * *right;
        return std::nullopt;
      }
      case ast::BinaryOp::power:
        power(*binary.left, std::nullopt);
        power(*binary.right, std::nullopt);
        return std::nullopt;
      case ast::BinaryOp::logical_and:
      case ast::BinaryOp::logical_or:
        power(*binary.left, std::nullopt);
        power(*binary.right, std::nullopt);
        return 0;
      default:
        same({binary.left.get(), binary.right.get()}, std::nullopt);
        return 0;
    }
  }

  Context& context_;
  int depth_;
  bool divides_to_fraction_ = false;
  std::map<std::string, Power> powers_;
};

class Inliner {
 public:
  Inliner(Context& context, std::vector<ScheduleUse>& uses) : context_(context), uses_(uses) {}

  std::optional<Scalar> value(const ast::Expr& expr, std::optional<plan::Clock> clock = std::nullopt) {
    return read_scalar(context_, expr, outer_scope(clock));
  }

 private:
  using Result = std::optional<Scalar>;

  /// Outside of a schedule's body: `horizon`, and schedules as calls.
  NumericScope outer_scope(std::optional<plan::Clock> clock) {
    NumericScope scope;
    scope.variable = [](const std::string& name, Span) -> Result {
      if (name != "horizon") return std::nullopt;
      return Scalar{Expression::variable("horizon"), Dim::updates, false, false, 1, {}};
    };
    scope.call = [this, clock](const ast::Call& call, Span span, bool& known) {
      return call_schedule(call, span, clock, known);
    };
    scope.names = {"horizon"};
    return scope;
  }

  Result call_schedule(const ast::Call& call, Span span, std::optional<plan::Clock> outer_clock,
                       bool& known) {
    std::string name = call.callee.dotted();
    const Definition* schedule = context_.modules.find(name, call.callee.span.file);
    if (!schedule || schedule->kind != Definition::Kind::schedule) {
      const auto& functions = plan::function_names();
      if (std::find(functions.begin(), functions.end(), name) != functions.end()) return std::nullopt;
      known = true;
      not_found(name, call.callee.span, schedule);
      return std::nullopt;
    }
    known = true;
    if (std::find(open_.begin(), open_.end(), schedule) != open_.end()) {
      context_.engine.report(Code::L037, call.callee.span, {name});
      return std::nullopt;
    }
    if (!schedule->head->value) return std::nullopt;
    return inlined(*schedule, call, span, outer_clock);
  }

  void not_found(const std::string& name, Span span, const Definition* other) {
    if (other) {
      context_.engine.report(Code::L065, span, {"schedule", name})
          .also(other->head->name->span,
                std::string("`") + name + "` is " + sema::name(other->kind) + ", defined here");
      return;
    }
    const auto& standard = context_.modules.standard_names(Definition::Kind::schedule);
    if (std::find(standard.begin(), standard.end(), name) != standard.end()) {
      std::string path = "std.schedules." + name;
      auto& finding = context_.engine.report(Code::L064, span, {name, path});
      finding.fix({"add `use " + path + "`",
                   diagnostics::Certainty::certain,
                   {context_.modules.use_edit(span.file, path)}});
      return;
    }
    std::vector<std::string> candidates =
        context_.modules.visible_names(Definition::Kind::schedule, span.file);
    candidates.insert(candidates.end(), standard.begin(), standard.end());
    const auto& functions = plan::function_names();
    candidates.insert(candidates.end(), functions.begin(), functions.end());
    suggest(context_.engine.report(Code::L065, span, {"schedule or function", name}), span, name, candidates,
            false);
  }

  Result inlined(const Definition& schedule, const ast::Call& call, Span span,
                 std::optional<plan::Clock> outer_clock) {
    std::vector<Parameter> parameters = parameters_of(schedule);
    std::vector<std::string> names;
    for (const Parameter& parameter : parameters) names.push_back(parameter.name);
    // `clock` is named when it is given, so arguments by position start behind it.
    std::vector<std::string> order = names;
    bool has_clock = !names.empty() && std::find(names.begin(), names.end(), "clock") != names.end();
    if (has_clock) {
      order.erase(std::find(order.begin(), order.end(), "clock"));
      order.push_back("clock");
    }
    NamedArguments matched = match_arguments(context_, call.args, schedule.name, order,
                                             has_clock ? order.size() - 1 : order.size());
    if (!matched.good) return std::nullopt;
    auto argument = [&](const std::string& name) -> const ast::Arg* {
      return matched.values[static_cast<size_t>(std::find(order.begin(), order.end(), name) - order.begin())];
    };

    ClockPowers powers(context_, schedule);

    std::map<std::string, Scalar> values;
    bool good = true;
    for (const Parameter& parameter : parameters) {
      if (parameter.name == "clock") continue;
      const ast::Arg* arg = argument(parameter.name);
      if (!arg && !parameter.fallback) {
        context_.engine.report(Code::L067, span, {parameter.name, schedule.name})
            .also(schedule.head->name->span, "the schedule is defined here");
        good = false;
        continue;
      }
      const ast::Expr& source = arg ? *arg->value : *parameter.fallback;
      if (arg && (std::holds_alternative<ast::Text>(ast::strip(source).node) ||
                  std::holds_alternative<ast::List>(ast::strip(source).node))) {
        context_.engine.report(Code::L050, source.span,
                               {"a number or a quantity for `" + parameter.name + "`", describe(source)});
        good = false;
        continue;
      }
      // An argument means what it means where it is written: inside of a body, over that body's parameters.
      Result value = arg && body_ ? read_scalar(context_, source, *body_) : this->value(source, outer_clock);
      if (!value)
        good = false;
      else
        values.emplace(parameter.name, std::move(*value));
    }
    if (!good) return std::nullopt;

    std::optional<plan::Clock> clock =
        clock_of_call(schedule, argument, has_clock, values, powers, outer_clock);
    if (!clock) return std::nullopt;
    if (!resolve_percentages(values, powers, *clock)) return std::nullopt;
    for (auto& [name, value] : values) {
      if (!powers.is_place(name) && value.dim != Dim::none) {
        context_.engine.report(Code::L052, value.span,
                               {"a plain number for `" + name + "`", describe(value)});
        return std::nullopt;
      }
      if (powers.is_place(name) && name == "total" && value.constant() && *value.constant() <= 0) {
        context_.engine.report(Code::L056, value.span, {name, describe(value)});
        return std::nullopt;
      }
      value.dim = Dim::none;
      value.percent = false;
    }

    NumericScope body;
    body.variable = [&](const std::string& name, Span) -> Result {
      if (name == "clock" && has_clock)
        return Scalar{Expression::variable(plan::name(*clock)), Dim::none, false, false, 1, {}};
      if (auto found = values.find(name); found != values.end()) return found->second;
      return std::nullopt;
    };
    body.call = [this, clock](const ast::Call& inner, Span inner_span, bool& known) {
      return call_schedule(inner, inner_span, clock, known);
    };
    body.names = names;
    open_.push_back(&schedule);
    const NumericScope* enclosing = std::exchange(body_, &body);
    Result result = read_scalar(context_, *schedule.head->value, body);
    body_ = enclosing;
    open_.pop_back();
    if (!result) return std::nullopt;
    ScheduleUse use;
    use.schedule = schedule.qualified_name;
    use.clock = *clock;
    if (auto total = values.find("total"); total != values.end()) use.total = total->second.value;
    use.value = result->value;
    use.span = span;
    uses_.push_back(std::move(use));
    return result;
  }

  template <class Argument>
  std::optional<plan::Clock> clock_of_call(const Definition& schedule, const Argument& argument,
                                           bool has_clock, const std::map<std::string, Scalar>& values,
                                           const ClockPowers& powers,
                                           std::optional<plan::Clock> outer_clock) {
    const Scalar* decides = nullptr;
    Span decided_at;
    std::optional<plan::Clock> clock;
    if (const ast::Arg* written = has_clock ? argument("clock") : nullptr) {
      auto name = as_name(*written->value);
      if (name == "clock" && outer_clock) {
        clock = outer_clock;
      } else {
        auto choice = read_choice(context_, *written->value, "clock", clock_names());
        if (!choice) return std::nullopt;
        clock = find_clock(*choice);
      }
      decided_at = written->value->span;
    }
    for (const auto& [name, value] : values) {
      if (!powers.is_place(name) || value.dim == Dim::none) continue;
      std::optional<plan::Clock> own = clock_of(value.dim);
      if (!own) {
        context_.engine.report(Code::L052, value.span,
                               {"a quantity on a clock for `" + name + "`", describe(value)});
        return std::nullopt;
      }
      if (clock && *own != *clock) {
        auto& finding = context_.engine.report(Code::L083, value.span,
                                               {schedule.name, plan::name(*clock), plan::name(*own)});
        finding.with_label(std::string("this is ") + sema::name(value.dim));
        finding.also(decided_at, std::string("this is ") + plan::name(*clock));
        finding.help("a schedule follows one clock: give every length in the same unit");
        return std::nullopt;
      }
      if (!clock) {
        clock = own;
        decides = &value;
        decided_at = decides->span;
      }
    }
    if (clock) return clock;
    return outer_clock.value_or(plan::Clock::updates);
  }

  bool resolve_percentages(std::map<std::string, Scalar>& values, const ClockPowers& powers,
                           plan::Clock clock) {
    auto total = values.find("total");
    for (auto& [name, value] : values) {
      if (!value.percent || !powers.is_place(name)) continue;
      if (total == values.end() || total->second.percent) {
        context_.engine.report(Code::L084, value.span, {name})
            .help(std::string("give a quantity, such as `100 ") + plan::name(clock) + "`");
        return false;
      }
      double fraction = value.constant().value_or(0);
      if (value.constant() && (fraction < 0 || fraction > 1)) {
        context_.engine.report(Code::L057, value.span, {name, describe(value), "[0%, 100%]"});
        return false;
      }
      Scalar share = total->second;
      if (auto known = share.constant(); known && value.constant())
        share.value = Expression::constant(*known * fraction);
      else
        share.value = Expression::apply("*", {value.value, share.value});
      share.size += value.size + 1;
      share.span = value.span;
      value = std::move(share);
    }
    return true;
  }

  Context& context_;
  std::vector<ScheduleUse>& uses_;
  std::vector<const Definition*> open_;
  const NumericScope* body_ = nullptr;  // of the schedule being written in
};

}  // namespace

std::optional<Scalar> read_scheduled(Context& context, const ast::Expr& expr,
                                     std::vector<ScheduleUse>& uses) {
  return Inliner(context, uses).value(expr);
}

void check_schedule(Context& context, const Definition& schedule) {
  if (!schedule.head->value) {
    context.engine.report(Code::L047, schedule.head->keyword.span, {"schedule"});
    return;
  }
  std::vector<Parameter> parameters = parameters_of(schedule);
  NumericScope scope;
  std::vector<ScheduleUse> uses;
  for (const Parameter& parameter : parameters) scope.names.push_back(parameter.name);
  scope.variable = [&](const std::string& name, Span) -> std::optional<Scalar> {
    if (std::find(scope.names.begin(), scope.names.end(), name) == scope.names.end()) return std::nullopt;
    return Scalar{Expression::variable(name), Dim::none, false, false, 1, {}};
  };
  scope.call = [&](const ast::Call& call, Span, bool& known) -> std::optional<Scalar> {
    const Definition* other = context.modules.find(call.callee.dotted(), call.callee.span.file);
    known = other && other->kind == Definition::Kind::schedule;
    if (other == &schedule) {
      context.engine.report(Code::L037, call.callee.span, {schedule.name});
      return std::nullopt;
    }
    return known
               ? std::optional<Scalar>(Scalar{Expression::variable("clock"), Dim::none, false, false, 1, {}})
               : std::nullopt;
  };
  read_scalar(context, *schedule.head->value, scope);
}

}  // namespace loop::sema
