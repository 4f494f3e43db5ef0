#include "compiler/sema/loss_terms.h"

#include <algorithm>
#include <cmath>

#include "compiler/base/text.h"
#include "compiler/sema/block_reader.h"
#include "compiler/sema/descriptors.h"

namespace loop::sema {

using diagnostics::Code;
using plan::CountUnit;

namespace {

const std::vector<std::pair<std::string, CountUnit>>& units() {
  static const std::vector<std::pair<std::string, CountUnit>> all = {
      {"tokens", CountUnit::tokens},
      {"samples", CountUnit::samples},
      {"positions", CountUnit::positions},
      {"boxes", CountUnit::boxes},
      {"class_weight", CountUnit::class_weight},
      {"window", CountUnit::window},
      {"micro_batch", CountUnit::micro_batch}};
  return all;
}

/// What a unit means for the result, one line each.
const std::vector<std::string>& unit_help() {
  static const std::vector<std::string> lines = {
      "`per tokens`: every counted token weighs the same in the window, however they fall into micro-batches "
      "and ranks",
      "`per samples`: every sample weighs the same",
      "`per 64`, `per window`: a sum, divided by a constant or not at all",
      "`per micro_batch`: a mean of micro-batch means, which depends on how the window is split"};
  return lines;
}

class TermReader {
 public:
  explicit TermReader(Context& context) : context_(context) {}

  bool read(const std::string& name, Span name_span, const ast::Expr& value,
            const std::vector<ast::Clause>& clauses, Objective& out) {
    LossTerm term;
    term.term.name = name;
    term.name_span = name_span;
    term.span = value.span;
    term.unit_span = value.span;
    const ast::Call* call = nullptr;
    double weight = 1;
    if (!factors(value, false, weight, call)) return false;
    if (!call) {
      context_.engine.report(
          Code::L050, value.span,
          {"a loss, as in `cross_entropy(ignore: -100)` or `0.1 * z_loss()`", describe(value)});
      return false;
    }
    auto use = read_loss_call(context_, *call, value.span);
    if (!use) return false;
    term.term.weight = weight;
    term.term.component = use->component;
    term.facts = use->facts;
    const ast::Clause* per = nullptr;
    for (const ast::Clause& clause : clauses) {
      if (clause.kind != ast::ClauseKind::per || per) {
        context_.engine.report(Code::L044, clause.span,
                               {name, "one `per UNIT` after the term",
                                "a term, as in `cross_entropy(ignore: -100) per tokens`"});
        return false;
      }
      per = &clause;
    }
    if (!per) {
      auto& finding = context_.engine.report(Code::L082, value.span, {name});
      for (const std::string& line : unit_help()) finding.help(line);
      return false;
    }
    plan::CountClass count;
    count.ignore = use->ignore;
    term.unit_span = per->span;
    if (!read_unit(*per, count)) return false;
    std::string unit = plan::name(count.unit);
    bool fits = use->units.empty() || count.unit == CountUnit::constant || count.unit == CountUnit::window ||
                count.unit == CountUnit::micro_batch ||
                std::find(use->units.begin(), use->units.end(), unit) != use->units.end();
    if (!fits) {
      context_.engine
          .report(Code::L094, per->span, {unit, call->callee.dotted(), base::enumerate(use->units, " or ")})
          .help("write `per " + use->units.front() + "`, or a constant as in `per 64`");
      return false;
    }
    auto same = std::find(out.classes.begin(), out.classes.end(), count);
    term.term.count_class = static_cast<int>(same - out.classes.begin());
    if (same == out.classes.end()) out.classes.push_back(count);
    for (const std::string& metric : use->metrics)
      if (std::find(out.metrics.begin(), out.metrics.end(), metric) == out.metrics.end())
        out.metrics.push_back(metric);
    out.metrics.push_back(name);
    out.terms.push_back(std::move(term));
    return true;
  }

 private:
  /// A product of numbers and one call of a loss.
  bool factors(const ast::Expr& expr, bool divides, double& weight, const ast::Call*& call) {
    const ast::Expr& inner = ast::strip(expr);
    if (const auto* binary = std::get_if<ast::Binary>(&inner.node)) {
      if (binary->op == ast::BinaryOp::multiply || binary->op == ast::BinaryOp::divide) {
        bool right_divides = divides != (binary->op == ast::BinaryOp::divide);
        return factors(*binary->left, divides, weight, call) &&
               factors(*binary->right, right_divides, weight, call);
      }
      if (holds_loss(inner)) {
        context_.engine
            .report(Code::L050, inner.span, {"one term: a number times one loss", "several losses or a sum"})
            .help("give each loss a name of its own: `loss { main = … per …; extra = 0.1 * … per … }`");
        return false;
      }
    }
    if (const auto* found = std::get_if<ast::Call>(&inner.node); found && is_loss(*found)) {
      if (call || divides) {
        context_.engine
            .report(Code::L050, inner.span,
                    {"one term: a number times one loss", call ? "a second loss" : "a division by a loss"})
            .help("give each loss a name of its own: `loss { main = … per …; extra = 0.1 * … per … }`");
        return false;
      }
      call = found;
      return true;
    }
    if (const auto* path = std::get_if<ast::Path>(&inner.node);
        path && find_component(context_, Definition::Kind::loss, path->dotted(), path->span.file)) {
      context_.engine.report(Code::L050, inner.span,
                             {"a loss with its parentheses, `" + path->dotted() + "()`", describe(inner)});
      return false;
    }
    auto number = read_number(context_, inner, "the weight");
    if (!number) return false;
    if (divides && *number == 0) {
      context_.engine.report(Code::L058, inner.span).with_label("this is 0");
      return false;
    }
    weight = divides ? weight / *number : weight * *number;
    return true;
  }

  bool is_loss(const ast::Call& call) const {
    const auto& functions = plan::function_names();
    return std::find(functions.begin(), functions.end(), call.callee.dotted()) == functions.end();
  }
  bool holds_loss(const ast::Expr& expr) const {
    const ast::Expr& inner = ast::strip(expr);
    if (const auto* call = std::get_if<ast::Call>(&inner.node)) return is_loss(*call);
    if (const auto* binary = std::get_if<ast::Binary>(&inner.node))
      return holds_loss(*binary->left) || holds_loss(*binary->right);
    if (const auto* unary = std::get_if<ast::Unary>(&inner.node)) return holds_loss(*unary->operand);
    return false;
  }

  bool read_unit(const ast::Clause& per, plan::CountClass& count) {
    const ast::Expr& value = ast::strip(*per.value);
    const ast::Call* call = as_call(value);
    if (std::holds_alternative<ast::Number>(value.node)) {
      auto number = read_number(context_, value, "per");
      if (!number) return false;
      if (*number <= 0) {
        context_.engine.report(Code::L056, value.span, {"per", plan::number_text(*number)});
        return false;
      }
      count.unit = CountUnit::constant;
      count.constant = *number;
      return true;
    }
    std::string written = call ? call->callee.dotted() : as_name(value).value_or("");
    auto found =
        std::find_if(units().begin(), units().end(), [&](const auto& unit) { return unit.first == written; });
    if (found == units().end()) {
      std::vector<std::string> names;
      for (const auto& [unit_name, unit] : units()) names.push_back(unit_name);
      auto& finding = context_.engine.report(
          Code::L061, value.span,
          {written.empty() ? describe(value) : written, "per", base::enumerate(names) + ", or a number"});
      suggest(finding, value.span, written, names, false);
      return false;
    }
    count.unit = found->second;
    if (!call) return true;
    if (count.unit != CountUnit::boxes) {
      context_.engine.report(Code::L069, call->args_span, {written, std::to_string(call->args.size())})
          .help("only `per boxes(at_least: …)` takes an argument");
      return false;
    }
    NamedArguments matched = match_arguments(context_, call->args, "boxes", {"at_least"}, 0);
    if (!matched.good || !matched.values[0]) return matched.good;
    NumericScope scope;
    scope.variable = [](const std::string& name, Span) -> std::optional<Scalar> {
      if (name != "ranks") return std::nullopt;
      return Scalar{plan::Expression::variable("ranks"), Dim::none, false, false, 1, {}};
    };
    scope.names = {"ranks"};
    auto least = read_scalar(context_, *matched.values[0]->value, scope);
    if (!least) return false;
    if (least->dim != Dim::none) {
      context_.engine.report(Code::L052, matched.values[0]->value->span,
                             {"a plain number for `at_least`", describe(*least)});
      return false;
    }
    count.at_least = least->value;
    return true;
  }

  Context& context_;
};

}  // namespace

std::optional<Objective> read_loss(Context& context, const ast::Head& loss) {
  Objective objective;
  TermReader reader(context);
  if (loss.value) {
    if (!reader.read("loss", loss.keyword.span, *loss.value, loss.clauses, objective)) return std::nullopt;
    objective.metrics.pop_back();  // the one term's name is `loss` itself
    return objective;
  }
  BlockReader block(context, loss_table(), loss.block->items, loss.keyword.span);
  bool good = true;
  for (const ast::Head* term : block.free_names()) {
    if (!term->value || term->assign != ast::Assign::equals) {
      context.engine.report(
          Code::L044, term->keyword.span,
          {term->keyword.text, "`" + term->keyword.text + " = …`", std::string(loss_table().free_takes)});
      good = false;
      continue;
    }
    good =
        reader.read(term->keyword.text, term->keyword.span, *term->value, term->clauses, objective) && good;
  }
  if (good && objective.terms.empty()) {
    context.engine.report(Code::L043, loss.keyword.span, {"a term", "loss"})
        .help("such as `main = cross_entropy(ignore: -100) per tokens`");
    return std::nullopt;
  }
  if (!good) return std::nullopt;
  return objective;
}

}  // namespace loop::sema
