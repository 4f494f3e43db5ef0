#include "compiler/sema/factor.h"

#include <cmath>

#include "compiler/base/text.h"

namespace loop::sema {

using diagnostics::Code;
using Symbol = plan::Power::Symbol;

namespace {

class FactorReader {
 public:
  FactorReader(Context& context, const ProgramSurroundings& around, const std::string& operation)
      : context_(context), around_(around), operation_(operation) {}

  bool read(const ast::Expr& expr, int sign) {
    const ast::Expr& inner = ast::strip(expr);
    if (const auto* binary = std::get_if<ast::Binary>(&inner.node)) {
      if (binary->op == ast::BinaryOp::multiply)
        return read(*binary->left, sign) && read(*binary->right, sign);
      if (binary->op == ast::BinaryOp::divide)
        return read(*binary->left, sign) && read(*binary->right, -sign);
      if (binary->op == ast::BinaryOp::power && !is_number(inner)) {
        auto exponent = read_number(context_, *binary->right, "the exponent");
        if (!exponent) return false;
        if (*exponent != std::floor(*exponent) || std::abs(*exponent) > 8) {
          context_.engine.report(Code::L089, binary->right->span,
                                 {operation_, "an exponent is a whole number from -8 to 8"});
          return false;
        }
        return read(*binary->left, sign * static_cast<int>(*exponent));
      }
    }
    if (const auto* unary = std::get_if<ast::Unary>(&inner.node);
        unary && unary->op == ast::UnaryOp::negate && !is_number(inner)) {
      factor.number = -factor.number;
      return read(*unary->operand, sign);
    }
    if (auto name = as_name(inner)) {
      Symbol symbol = Symbol::loss_scale;
      int count_class = -1;
      std::string unit;
      if (*name == "loss_scale")
        symbol = Symbol::loss_scale;
      else if (*name == "micro_batches")
        symbol = Symbol::micro_batches;
      else if (*name == "micro_batches.counted")
        symbol = Symbol::micro_batches_counted;
      else if (*name == "ranks")
        symbol = Symbol::ranks;
      else if (auto count = as_count(*name)) {
        auto found = find_count_class(context_, count->unit, inner.span, *around_.count_classes);
        if (!found) return false;
        symbol = count->scope;
        count_class = *found;
        unit = count->unit;
        if (symbol == Symbol::count_micro && operation_ != "scale_loss") {
          context_.engine
              .report(Code::L089, inner.span,
                      {operation_,
                       "`" + *name + "` belongs to one micro-batch, and the gradient is a sum over several"})
              .help("`" + unit + ".global` is the window's count over all ranks");
          return false;
        }
      } else {
        return number(inner, sign);
      }
      if (symbol == Symbol::micro_batches && around_.window_unit != plan::WindowSize::Unit::micro_batches) {
        context_.engine
            .report(Code::L089, inner.span,
                    {operation_, std::string("the window is given in ") + plan::name(around_.window_unit) +
                                     ", so the number of micro-batches is not configured"})
            .help("`micro_batches.counted` is the number in this window");
        return false;
      }
      add({symbol, count_class, unit, sign});
      return true;
    }
    return number(inner, sign);
  }

  plan::Factor factor;

 private:
  /// Whether everything in it is a number, so that it folds as a whole.
  bool is_number(const ast::Expr& expr) const {
    const ast::Expr& inner = ast::strip(expr);
    if (std::holds_alternative<ast::Number>(inner.node)) return true;
    if (const auto* unary = std::get_if<ast::Unary>(&inner.node)) return is_number(*unary->operand);
    if (const auto* binary = std::get_if<ast::Binary>(&inner.node))
      return is_number(*binary->left) && is_number(*binary->right);
    return false;
  }

  bool number(const ast::Expr& expr, int sign) {
    NumericScope scope;
    bool symbolic = false;
    scope.variable = [&](const std::string& name, Span) -> std::optional<Scalar> {
      if (name != "loss_scale" && name != "micro_batches" && name != "micro_batches.counted" &&
          name != "ranks" && !as_count(name))
        return std::nullopt;
      symbolic = true;
      return Scalar{plan::Expression::variable(name), Dim::none, false, false, 1, {}};
    };
    scope.names = {"loss_scale", "micro_batches", "micro_batches.counted", "ranks"};
    for (const plan::CountClass& count : *around_.count_classes)
      for (const char* part : {".global", ".rank", ".micro"})
        scope.names.push_back(plan::name(count.unit) + std::string(part));
    auto scalar = read_scalar(context_, expr, scope);
    if (!scalar) return false;
    if (symbolic || !scalar->constant() || scalar->truth) {
      context_.engine.report(Code::L089, expr.span,
                             {operation_, "a factor is a product: numbers and powers of " +
                                              base::enumerate(scope.names, " and ")});
      return false;
    }
    if (scalar->dim != Dim::none) {
      context_.engine.report(Code::L052, expr.span, {"a plain number", describe(*scalar)});
      return false;
    }
    double value = *scalar->constant();
    if (value == 0 && sign < 0) {
      context_.engine.report(Code::L058, expr.span).with_label("this is 0");
      return false;
    }
    factor.number *= std::pow(value, sign);
    if (!std::isfinite(factor.number)) {
      context_.engine.report(Code::L059, expr.span, {std::string(context_.sources.text(expr.span))});
      return false;
    }
    return true;
  }

  void add(const plan::Power& power) {
    for (auto at = factor.powers.begin(); at != factor.powers.end(); ++at) {
      if (at->symbol != power.symbol || at->count_class != power.count_class) continue;
      at->exponent += power.exponent;
      if (at->exponent == 0) factor.powers.erase(at);
      return;
    }
    if (power.exponent != 0) factor.powers.push_back(power);
  }

  Context& context_;
  const ProgramSurroundings& around_;
  std::string operation_;
};

}  // namespace

std::optional<CountName> as_count(const std::string& name) {
  size_t dot = name.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  std::string scope = name.substr(dot + 1);
  std::string unit = name.substr(0, dot);
  if (unit == "micro_batches") return std::nullopt;
  if (scope == "global") return CountName{unit, Symbol::count_global};
  if (scope == "rank") return CountName{unit, Symbol::count_rank};
  if (scope == "micro") return CountName{unit, Symbol::count_micro};
  return std::nullopt;
}

std::optional<int> find_count_class(Context& context, const std::string& unit, Span span,
                                    const std::vector<plan::CountClass>& classes) {
  std::optional<int> found;
  std::vector<std::string> names;
  for (size_t i = 0; i < classes.size(); ++i) {
    names.emplace_back(plan::name(classes[i].unit));
    if (names.back() != unit) continue;
    if (found) {
      context.engine.report(
          Code::L088, span,
          {unit, "two terms count " + unit + " under different masks, so the name could mean either count"});
      return std::nullopt;
    }
    found = static_cast<int>(i);
  }
  if (!found) {
    auto& finding =
        context.engine.report(Code::L088, span, {unit, "the loss counts " + base::enumerate(names, " and ")});
    if (auto near = base::nearest(unit, names)) finding.help("did you mean `" + *near + "`?");
  }
  return found;
}

std::optional<plan::Factor> read_factor(Context& context, const ast::Expr& expr,
                                        const ProgramSurroundings& around, const std::string& operation) {
  FactorReader reader(context, around, operation);
  if (!reader.read(expr, 1)) return std::nullopt;
  return reader.factor;
}

}  // namespace loop::sema
