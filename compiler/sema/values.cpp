#include "compiler/sema/values.h"

#include <algorithm>
#include <cmath>

#include "compiler/base/text.h"

namespace loop::sema {

using diagnostics::Code;

namespace {

constexpr double kMaxWhole = 9007199254740992.0;  // 2^53: beyond it doubles skip whole numbers

std::vector<std::string> quoted(const std::vector<std::string>& words) {
  std::vector<std::string> result;
  for (const std::string& word : words) result.push_back("`" + word + "`");
  return result;
}

std::optional<double> constant(Context& context, const Scalar& scalar, const ast::Expr& expr,
                               const std::string& what) {
  if (scalar.truth) {
    context.engine.report(Code::L050, expr.span, {"a number for `" + what + "`", "a condition"});
    return std::nullopt;
  }
  return scalar.constant();
}

bool is_scalar_shape(const ast::Expr& expr) {
  const ast::Expr& inner = ast::strip(expr);
  return !std::holds_alternative<ast::Text>(inner.node) && !std::holds_alternative<ast::List>(inner.node) &&
         !std::holds_alternative<ast::Range>(inner.node);
}

}  // namespace

std::optional<double> read_number(Context& context, const ast::Expr& expr, const std::string& what) {
  if (!is_scalar_shape(expr)) {
    context.engine.report(Code::L050, expr.span, {"a number for `" + what + "`", describe(expr)});
    return std::nullopt;
  }
  auto scalar = read_scalar(context, expr);
  if (!scalar) return std::nullopt;
  auto value = constant(context, *scalar, expr, what);
  if (!value) return std::nullopt;
  if (scalar->dim != Dim::none) {
    context.engine.report(Code::L052, expr.span, {"a plain number for `" + what + "`", describe(*scalar)});
    return std::nullopt;
  }
  return value;
}

std::optional<int64_t> read_whole(Context& context, const ast::Expr& expr, const std::string& what,
                                  int64_t low) {
  auto value = read_number(context, expr, what);
  if (!value) return std::nullopt;
  if (*value != std::floor(*value) || std::abs(*value) > kMaxWhole) {
    context.engine.report(Code::L055, expr.span, {what, plan::number_text(*value)});
    return std::nullopt;
  }
  if (*value < static_cast<double>(low)) {
    context.engine.report(Code::L057, expr.span,
                          {what, plan::number_text(*value), "[" + std::to_string(low) + ", inf)"});
    return std::nullopt;
  }
  return static_cast<int64_t>(*value);
}

std::optional<Measured> read_quantity(Context& context, const ast::Expr& expr, const std::string& what,
                                      const std::vector<Dim>& allowed) {
  std::vector<std::string> units;
  for (Dim dim : allowed) units.emplace_back(name(dim));
  std::string wanted = "a quantity in " + base::enumerate(units) + " for `" + what + "`";
  if (!is_scalar_shape(expr)) {
    context.engine.report(Code::L050, expr.span, {wanted, describe(expr)})
        .help("such as `" + example(allowed.front()) + "`");
    return std::nullopt;
  }
  auto scalar = read_scalar(context, expr);
  if (!scalar) return std::nullopt;
  auto value = constant(context, *scalar, expr, what);
  if (!value) return std::nullopt;
  if (scalar->dim == Dim::none) {
    auto& finding =
        context.engine.report(Code::L054, expr.span, {what, describe(*scalar), base::enumerate(units)});
    if (!scalar->percent && allowed.size() == 1 && clock_of(allowed.front()) &&
        allowed.front() != Dim::seconds)
      finding.fix(
          {std::string("add the unit `") + name(allowed.front()) + "`",
           diagnostics::Certainty::likely,
           {{{expr.span.file, expr.span.end, expr.span.end}, std::string(" ") + name(allowed.front())}}});
    else
      finding.help("such as `" + example(allowed.front()) + "`");
    return std::nullopt;
  }
  if (std::find(allowed.begin(), allowed.end(), scalar->dim) == allowed.end()) {
    context.engine.report(Code::L052, expr.span, {wanted, describe(*scalar)});
    return std::nullopt;
  }
  if (*value <= 0) {
    context.engine.report(Code::L056, expr.span, {what, describe(*scalar)});
    return std::nullopt;
  }
  bool continuous = scalar->dim == Dim::epochs || scalar->dim == Dim::seconds;
  if (!continuous && (*value != std::floor(*value) || *value > kMaxWhole)) {
    context.engine.report(Code::L055, expr.span, {what, describe(*scalar)});
    return std::nullopt;
  }
  return Measured{*value, scalar->dim};
}

std::optional<std::string> read_text(Context& context, const ast::Expr& expr, const std::string& what) {
  if (const auto* text = std::get_if<ast::Text>(&ast::strip(expr).node)) return text->value;
  context.engine.report(Code::L050, expr.span, {"a text in quotes for `" + what + "`", describe(expr)});
  return std::nullopt;
}

std::optional<bool> read_boolean(Context& context, const ast::Expr& expr, const std::string& what) {
  auto name = as_name(expr);
  if (name == "true") return true;
  if (name == "false") return false;
  context.engine.report(Code::L050, expr.span, {"`true` or `false` for `" + what + "`", describe(expr)});
  return std::nullopt;
}

std::optional<std::string> read_choice(Context& context, const ast::Expr& expr, const std::string& what,
                                       const std::vector<std::string>& choices) {
  auto name = as_name(expr);
  if (!name) {
    context.engine.report(Code::L050, expr.span,
                          {base::enumerate(quoted(choices)) + " for `" + what + "`", describe(expr)});
    return std::nullopt;
  }
  if (std::find(choices.begin(), choices.end(), *name) != choices.end()) return name;
  auto& finding =
      context.engine.report(Code::L061, expr.span, {*name, what, base::enumerate(quoted(choices))});
  if (auto near = base::nearest(*name, choices)) {
    finding.help("did you mean `" + *near + "`?");
    finding.fix(spelling(expr.span, *name, *near, choices));
  }
  return std::nullopt;
}

std::optional<std::string> as_name(const ast::Expr& expr) {
  if (const auto* path = std::get_if<ast::Path>(&ast::strip(expr).node)) return path->dotted();
  return std::nullopt;
}

const ast::Call* as_call(const ast::Expr& expr) {
  return std::get_if<ast::Call>(&ast::strip(expr).node);
}

std::vector<const ast::Expr*> alternatives(const ast::Expr& expr) {
  std::vector<const ast::Expr*> result;
  const ast::Expr* at = &ast::strip(expr);
  while (const auto* binary = std::get_if<ast::Binary>(&at->node)) {
    if (binary->op != ast::BinaryOp::logical_or) break;
    std::vector<const ast::Expr*> right = alternatives(*binary->right);
    result.insert(result.begin(), right.begin(), right.end());
    at = &ast::strip(*binary->left);
  }
  result.insert(result.begin(), at);
  return result;
}

std::vector<plan::Trigger> read_triggers(Context& context, const ast::Expr& expr, const std::string& what) {
  static const std::vector<Dim> kClocks = {Dim::updates,      Dim::attempts,    Dim::micro_batches,
                                           Dim::epochs,       Dim::samples,     Dim::tokens,
                                           Dim::samples_seen, Dim::tokens_seen, Dim::seconds};
  std::vector<plan::Trigger> result;
  for (const ast::Expr* part : alternatives(expr))
    if (auto quantity = read_quantity(context, *part, what, kClocks))
      result.push_back({*clock_of(quantity->dim), quantity->value});
  return result;
}

NamedArguments match_arguments(Context& context, const std::vector<ast::Arg>& args, const std::string& callee,
                               const std::vector<std::string>& names, size_t positional) {
  NamedArguments result;
  result.values.assign(names.size(), nullptr);
  size_t next = 0;
  for (const ast::Arg& arg : args) {
    size_t index = 0;
    if (arg.name) {
      auto found = std::find(names.begin(), names.end(), arg.name->text);
      if (found == names.end()) {
        auto& finding = context.engine.report(Code::L066, arg.name->span, {arg.name->text, callee});
        suggest(finding, arg.name->span, arg.name->text, names);
        result.good = false;
        continue;
      }
      index = static_cast<size_t>(found - names.begin());
    } else {
      if (next >= positional) {
        auto& finding = context.engine.report(Code::L069, arg.span, {callee, std::to_string(args.size())});
        if (!names.empty()) finding.help("`" + callee + "` takes " + base::enumerate(quoted(names), " and "));
        result.good = false;
        break;
      }
      index = next++;
    }
    if (result.values[index]) {
      context.engine.report(Code::L068, arg.span, {names[index]})
          .also(result.values[index]->span, "first given here");
      result.good = false;
      continue;
    }
    result.values[index] = &arg;
  }
  return result;
}

}  // namespace loop::sema
