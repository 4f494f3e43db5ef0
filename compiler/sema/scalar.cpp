#include "compiler/sema/scalar.h"

#include <cmath>

#include "compiler/base/text.h"

namespace loop::sema {

using diagnostics::Code;
using plan::Expression;

namespace {

constexpr int kMaxDepth = 2000;        // of operators inside operators
constexpr size_t kMaxNodes = 100'000;  // of one expression, schedules written in
constexpr double kPi = 3.141592653589793238462643383279502884;

const std::optional<double> kUnknown = std::nullopt;

bool is_number(const Expression& expression, double value) {
  return expression.kind == Expression::Kind::constant && expression.value == value;
}

class Reader {
 public:
  Reader(Context& context, const NumericScope& scope) : context_(context), scope_(scope) {}

  std::optional<Scalar> read(const ast::Expr& expr) {
    if (depth_ >= kMaxDepth || ++visited_ >= kMaxNodes) {
      if (!too_large_) context_.engine.report(Code::L048, expr.span, {std::to_string(kMaxNodes)});
      too_large_ = true;
      return std::nullopt;
    }
    ++depth_;
    std::optional<Scalar> result =
        std::visit([&](const auto& node) { return read_node(node, expr.span); }, expr.node);
    --depth_;
    if (result) {
      result->span = expr.span;
      if (!check_finite(*result)) return std::nullopt;
      if (result->size > kMaxNodes) {
        if (!too_large_) context_.engine.report(Code::L048, expr.span, {std::to_string(kMaxNodes)});
        too_large_ = true;
        return std::nullopt;
      }
    }
    return result;
  }

 private:
  using Result = std::optional<Scalar>;

  bool check_finite(const Scalar& scalar) {
    std::optional<double> value = scalar.constant();
    if (!value || std::isfinite(*value) || (scope_.allow_infinity && std::isinf(*value))) return true;
    if (never_ > 0) return true;
    context_.engine.report(Code::L059, scalar.span, {std::string(context_.sources.text(scalar.span))})
        .help("numbers go up to about 1.8e308");
    return false;
  }

  Result wrong_type(Span span, const std::string& found) {
    context_.engine.report(Code::L050, span, {"a number", found});
    return std::nullopt;
  }

  static Result number(double value) {
    return Scalar{Expression::constant(value), Dim::none, false, false, {}};
  }

  Result read_node(const ast::Number& node, Span) { return number(node.value); }
  Result read_node(const ast::Percent& node, Span) {
    Result result = number(node.fraction);
    result->percent = true;
    return result;
  }
  Result read_node(const ast::Text&, Span span) { return wrong_type(span, "a text"); }
  Result read_node(const ast::List&, Span span) { return wrong_type(span, "a list"); }
  Result read_node(const ast::Range&, Span span) { return wrong_type(span, "a range"); }
  Result read_node(const ast::Parenthesized& node, Span) { return read(*node.inner); }

  Result read_node(const ast::Quantity& node, Span) {
    const Unit* unit = find_unit(node.unit.text);
    if (!unit) {
      auto& finding = context_.engine.report(Code::L053, node.unit.span, {node.unit.text});
      suggest(finding, node.unit.span, node.unit.text, unit_names(), false);
      if (finding.helps.empty()) finding.help("units are " + base::enumerate(unit_names(), " and "));
      return std::nullopt;
    }
    Result result = number(node.value * unit->factor);
    result->dim = unit->dim;
    return result;
  }

  Result read_node(const ast::Path& path, Span span) {
    std::string name = path.dotted();
    if (scope_.variable)
      if (Result found = scope_.variable(name, span)) return found;
    if (ast::ExprPtr constant = constant_value(context_, name, span.file)) return read(*constant);
    if (name == "pi") return number(kPi);
    if (name == "inf" && scope_.allow_infinity) return number(INFINITY);
    if (name == "true" || name == "false") {
      Result result = number(name == "true" ? 1 : 0);
      result->truth = true;
      return result;
    }
    if (find_clock(name) || name == "horizon" || name == "finite" || name == "first" || name == "last") {
      context_.engine.report(Code::L060, span, {name});
      return std::nullopt;
    }
    auto& finding = context_.engine.report(Code::L062, span, {name});
    std::vector<std::string> candidates = scope_.names;
    for (std::string& constant : context_.modules.visible_names(Definition::Kind::constant, span.file))
      candidates.push_back(std::move(constant));
    suggest(finding, span, name, candidates);
    return std::nullopt;
  }

  Result read_node(const ast::Call& call, Span span) {
    std::string name = call.callee.dotted();
    if (scope_.call) {
      bool known = false;
      Result result = scope_.call(call, span, known);
      if (known) return result;
    }
    bool is_known = false;
    for (const std::string& function : plan::function_names()) is_known = is_known || function == name;
    if (!is_known) {
      auto& finding = context_.engine.report(Code::L063, call.callee.span, {name});
      suggest(finding, call.callee.span, name, plan::function_names(), false);
      return std::nullopt;
    }
    if (!plan::is_function(name, call.args.size())) {
      context_.engine.report(Code::L069, span, {name, std::to_string(call.args.size())});
      return std::nullopt;
    }
    std::vector<Scalar> operands;
    for (const ast::Arg& arg : call.args) {
      if (arg.name) {
        context_.engine.report(Code::L066, arg.name->span, {arg.name->text, name})
            .help("its arguments are given in order, without names");
        return std::nullopt;
      }
      Result operand = read(*arg.value);
      if (!operand) return std::nullopt;
      operands.push_back(std::move(*operand));
    }
    return apply_function(name, std::move(operands), span);
  }

  Result apply_function(const std::string& name, std::vector<Scalar> operands, Span span) {
    bool keeps_unit =
        name == "min" || name == "max" || name == "abs" || name == "floor" || name == "ceil" || name == "mod";
    if (name == "mod") {
      if (operands[1].constant() == 0.0) return zero_divisor(operands[1].span);
    }
    Dim dim = operands.front().dim;
    if (keeps_unit) {
      for (size_t i = 1; i < operands.size(); ++i)
        if (!same_unit(operands[0], operands[i], "`" + name + "`", span)) return std::nullopt;
    } else {
      for (const Scalar& operand : operands) {
        if (operand.dim == Dim::none) continue;
        context_.engine.report(Code::L052, operand.span, {"a plain number", describe(operand)})
            .help("`" + name + "` takes numbers without a unit; divide by a quantity of the same unit first");
        return std::nullopt;
      }
      dim = Dim::none;
    }
    return fold(name, std::move(operands), dim);
  }

  /// `operands` are moved into an application, folded when nothing in them varies.
  Result fold(const std::string& name, std::vector<Scalar> parts, Dim dim, bool truth = false) {
    std::vector<Expression> operands;
    size_t size = 1;
    for (Scalar& part : parts) {
      size += part.size;
      operands.push_back(std::move(part.value));
    }
    if (size > kMaxNodes) {
      Scalar huge;
      huge.size = size;
      return huge;
    }
    Scalar result;
    result.size = size;
    bool all_constant = true;
    for (const Expression& operand : operands)
      all_constant = all_constant && operand.kind == Expression::Kind::constant;
    if (all_constant) {
      std::optional<double> value = plan::evaluate(Expression::apply(name, std::move(operands)),
                                                   [](std::string_view) { return kUnknown; });
      result.value = Expression::constant(value.value_or(NAN));
    } else if (name == "+" &&
               is_number(operands[0], 0)) {  // so that a schedule's unused `floor` leaves no trace
      result.value = std::move(operands[1]);
    } else if (name == "*" && is_number(operands[0], 1)) {
      result.value = std::move(operands[1]);
    } else if (name == "if" && operands[0].kind == Expression::Kind::constant) {
      result.value = std::move(operands[operands[0].value != 0 ? 1 : 2]);
    } else {
      result.value = Expression::apply(name, std::move(operands));
    }
    result.dim = dim;
    result.truth = truth;
    return result;
  }

  Result zero_divisor(Span span) {
    if (never_ > 0) return number(0);
    context_.engine.report(Code::L058, span).with_label("this is 0");
    return std::nullopt;
  }

  bool same_unit(const Scalar& a, const Scalar& b, const std::string& what, Span place) {
    if (a.dim == b.dim) return true;
    context_.engine.report(Code::L051, place, {name(a.dim), name(b.dim), what})
        .also(a.span, std::string("this is ") + name(a.dim))
        .also(b.span, std::string("this is ") + name(b.dim));
    return false;
  }

  bool is_truth(const Scalar& scalar) {
    if (scalar.truth) return true;
    context_.engine.report(Code::L050, scalar.span, {"a condition", "a number"})
        .help("compare it with something, as in `updates > 100`");
    return false;
  }

  Result read_node(const ast::Unary& node, Span) {
    Result operand = read(*node.operand);
    if (!operand) return std::nullopt;
    if (node.op == ast::UnaryOp::logical_not) {
      if (!is_truth(*operand)) return std::nullopt;
      return fold("not", {*operand}, Dim::none, true);
    }
    Result result = fold("neg", {*operand}, operand->dim);
    result->percent = operand->percent;
    return result;
  }

  Result read_node(const ast::Binary& node, Span) {
    Result left = read(*node.left);
    Result right = read(*node.right);
    if (!left || !right) return std::nullopt;
    std::string op = ast::spelling(node.op);
    switch (node.op) {
      case ast::BinaryOp::add:
      case ast::BinaryOp::subtract: {
        if (!same_unit(*left, *right, "`" + op + "`", node.op_span)) return std::nullopt;
        Result result = fold(op, {*left, *right}, left->dim);
        result->percent = left->percent && right->percent;
        return result;
      }
      case ast::BinaryOp::multiply:
        if (left->dim != Dim::none && right->dim != Dim::none) {
          context_.engine.report(Code::L051, node.op_span, {name(left->dim), name(right->dim), "`*`"})
              .also(left->span, std::string("this is ") + name(left->dim))
              .also(right->span, std::string("this is ") + name(right->dim))
              .help("one of the two must be a plain number");
          return std::nullopt;
        }
        {
          Result result = fold(op, {*left, *right}, left->dim == Dim::none ? right->dim : left->dim);
          result->percent = result->dim == Dim::none && left->percent != right->percent;
          return result;
        }
      case ast::BinaryOp::divide:
        if (right->constant() == 0.0) return zero_divisor(right->span);
        if (right->dim == Dim::none) {
          Result result = fold(op, {*left, *right}, left->dim);
          result->percent = left->percent;
          return result;
        }
        if (!same_unit(*left, *right, "`/`", node.op_span)) return std::nullopt;
        return fold(op, {*left, *right}, Dim::none);
      case ast::BinaryOp::power:
        for (const Scalar* side : {&*left, &*right}) {
          if (side->dim == Dim::none) continue;
          context_.engine.report(Code::L052, side->span, {"a plain number", describe(*side)});
          return std::nullopt;
        }
        return fold(op, {*left, *right}, Dim::none);
      case ast::BinaryOp::logical_and:
      case ast::BinaryOp::logical_or:
        if (!is_truth(*left) || !is_truth(*right)) return std::nullopt;
        return fold(op, {*left, *right}, Dim::none, true);
      default: {
        bool plain_literal = (left->dim == Dim::none && left->constant() && !left->percent) ||
                             (right->dim == Dim::none && right->constant() && !right->percent);
        if (!plain_literal && !same_unit(*left, *right, "`" + op + "`", node.op_span)) return std::nullopt;
        return fold(op, {*left, *right}, Dim::none, true);
      }
    }
    return std::nullopt;
  }

  /// A condition that holds always or never: a constant, or a clock below zero (`clock < warmup` without a
  /// warm-up).
  enum class Truth { always, never, open };

  static Truth known_truth(const Scalar& condition) {
    if (const std::optional<double> constant = condition.constant())
      return *constant != 0 ? Truth::always : Truth::never;
    const Expression& value = condition.value;
    const bool below = value.kind == Expression::Kind::apply && value.name == "<" &&
                       value.operands.size() == 2 && value.operands[0].kind == Expression::Kind::variable &&
                       find_clock(value.operands[0].name) &&
                       value.operands[1].kind == Expression::Kind::constant && value.operands[1].value <= 0;
    return below ? Truth::never : Truth::open;
  }

  /// A branch that is `never` taken may divide by zero.
  Result read_branch(const ast::Expr& branch, bool never) {
    never_ += never;
    Result result = read(branch);
    never_ -= never;
    return result;
  }

  Result read_node(const ast::Conditional& node, Span) {
    Result condition = read(*node.condition);
    const Truth truth = condition ? known_truth(*condition) : Truth::open;
    Result yes = read_branch(*node.then_value, truth == Truth::never);
    Result no = read_branch(*node.else_value, truth == Truth::always);
    if (!condition || !yes || !no || !is_truth(*condition)) return std::nullopt;
    if (!same_unit(*yes, *no, "`if`", node.then_value->span)) return std::nullopt;
    if (truth == Truth::always) return yes;
    if (truth == Truth::never) return no;
    return fold("if", {*condition, *yes, *no}, yes->dim, yes->truth && no->truth);
  }

  Context& context_;
  const NumericScope& scope_;
  int depth_ = 0;
  int never_ = 0;  // inside branches that are never taken
  size_t visited_ = 0;
  bool too_large_ = false;
};

}  // namespace

std::optional<Scalar> read_scalar(Context& context, const ast::Expr& expr, const NumericScope& scope) {
  return Reader(context, scope).read(expr);
}

std::string describe(const Scalar& scalar) {
  std::optional<double> value = scalar.constant();
  if (!value)
    return scalar.dim == Dim::none ? "an expression" : std::string("a number of ") + name(scalar.dim);
  if (scalar.truth) return *value != 0 ? "true" : "false";
  if (scalar.percent) return plan::number_text(*value * 100) + "%";
  std::string number = plan::number_text(*value);
  switch (scalar.dim) {
    case Dim::none:
      return number;
    case Dim::seconds:
      return number + " s";
    case Dim::bytes:
      return number + " B";
    default:
      return number + " " + name(scalar.dim);
  }
}

std::string describe(const ast::Expr& expr) {
  struct Visitor {
    std::string operator()(const ast::Number& node) const { return "the number " + node.spelling; }
    std::string operator()(const ast::Percent& node) const { return "the percentage " + node.spelling; }
    std::string operator()(const ast::Text&) const { return "a text"; }
    std::string operator()(const ast::Quantity& node) const {
      return "`" + node.spelling + " " + node.unit.text + "`";
    }
    std::string operator()(const ast::Path& node) const { return "`" + node.dotted() + "`"; }
    std::string operator()(const ast::Call& node) const { return "`" + node.callee.dotted() + "(…)`"; }
    std::string operator()(const ast::List&) const { return "a list"; }
    std::string operator()(const ast::Range&) const { return "a range"; }
    std::string operator()(const ast::Unary&) const { return "an expression"; }
    std::string operator()(const ast::Binary&) const { return "an expression"; }
    std::string operator()(const ast::Conditional&) const { return "an expression"; }
    std::string operator()(const ast::Parenthesized& node) const { return describe(*node.inner); }
  };
  return std::visit(Visitor{}, expr.node);
}

}  // namespace loop::sema
