#include "compiler/sema/component_args.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "compiler/base/text.h"

namespace loop::sema {

using diagnostics::Code;
using plan::json;

namespace {

using Kind = ParameterType::Kind;

struct TypeName {
  const char* name;
  Kind kind;
};
constexpr std::array kTypes = {TypeName{"integer", Kind::integer}, TypeName{"number", Kind::number},
                               TypeName{"boolean", Kind::boolean}, TypeName{"choice", Kind::choice},
                               TypeName{"one_of", Kind::choice},   TypeName{"list", Kind::list},
                               TypeName{"text", Kind::text},       TypeName{"file", Kind::file},
                               TypeName{"names", Kind::names},     TypeName{"slice", Kind::slice}};

const TypeName* find_type(const std::string& name) {
  for (const TypeName& type : kTypes)
    if (name == type.name) return &type;
  return nullptr;
}

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const TypeName& type : kTypes) names.emplace_back(type.name);
  return names;
}

class DeclarationReader {
 public:
  explicit DeclarationReader(Context& context) : context_(context) {}

  std::optional<ParameterType> read(const ast::Arg& arg) {
    ParameterType type;
    type.span = arg.span;
    if (!arg.name) {
      context_.engine.report(Code::L050, arg.span,
                             {"a parameter with its type, as in `width: integer`", describe(*arg.value)});
      return std::nullopt;
    }
    type.name = arg.name->text;
    const ast::Call* call = as_call(*arg.value);
    std::string spelled = call ? call->callee.dotted() : as_name(*arg.value).value_or("");
    const TypeName* found = find_type(spelled);
    if (!found) {
      auto& finding = context_.engine.report(Code::L061, arg.value->span,
                                             {spelled.empty() ? describe(*arg.value) : spelled,
                                              "the type of " + type.name, base::enumerate(type_names())});
      suggest(finding, arg.value->span, spelled, type_names(), false);
      return std::nullopt;
    }
    type.kind = found->kind;
    type.required = !call || spelled == "one_of";
    if (type.kind == Kind::choice) {
      for (const ast::Arg& choice : call ? call->args : std::vector<ast::Arg>{})
        type.choices.push_back(as_name(*choice.value).value_or(""));
      if (!type.required && call && !call->args.empty()) type.fallback = call->args.front().value;
    } else if (type.kind == Kind::list) {
      const TypeName* element =
          call && !call->args.empty() ? find_type(as_name(*call->args.front().value).value_or("")) : nullptr;
      type.element = element ? element->kind : Kind::number;
      type.required = !call || call->args.size() < 2;
      if (!type.required) type.fallback = call->args[1].value;
    } else if (call && !call->args.empty()) {
      type.fallback = call->args.front().value;
    }
    if (arg.range && !read_range(*arg.range, type)) return std::nullopt;
    return type;
  }

 private:
  bool read_range(const ast::Interval& range, ParameterType& type) {
    NumericScope scope;
    scope.allow_infinity = true;
    auto low = read_scalar(context_, *range.low, scope);
    auto high = read_scalar(context_, *range.high, scope);
    if (!low || !high) return false;
    type.low = low->constant();
    type.high = high->constant();
    type.low_closed = range.low_closed;
    type.high_closed = range.high_closed;
    return true;
  }

  Context& context_;
};

class ArgumentReader {
 public:
  ArgumentReader(Context& context, ReadArguments& out) : context_(context), out_(out) {}

  std::optional<json> read(const ParameterType& type, Kind kind, const ast::Expr& expr) {
    switch (kind) {
      case Kind::integer: {
        auto value = read_number(context_, expr, type.name);
        if (!value) return std::nullopt;
        if (*value != std::floor(*value) || std::abs(*value) > 9007199254740992.0) {
          context_.engine.report(Code::L055, expr.span, {type.name, plan::number_text(*value)});
          return std::nullopt;
        }
        if (!in_range(type, *value, expr)) return std::nullopt;
        return json(static_cast<int64_t>(*value));
      }
      case Kind::number: {
        auto value = read_number(context_, expr, type.name);
        if (!value || !in_range(type, *value, expr)) return std::nullopt;
        return json(*value);
      }
      case Kind::boolean: {
        auto value = read_boolean(context_, expr, type.name);
        return value ? std::optional<json>(*value) : std::nullopt;
      }
      case Kind::choice: {
        auto value = read_choice(context_, expr, type.name, type.choices);
        return value ? std::optional<json>(*value) : std::nullopt;
      }
      case Kind::text: {
        auto value = read_text(context_, expr, type.name);
        return value ? std::optional<json>(*value) : std::nullopt;
      }
      case Kind::file: {
        auto value = read_text(context_, expr, type.name);
        if (!value) return std::nullopt;
        if (value->empty()) {
          context_.engine.report(Code::L050, expr.span,
                                 {"the name of a file for `" + type.name + "`", "an empty text"});
          return std::nullopt;
        }
        out_.files.push_back({*value, expr.span, true});
        return json(*value);
      }
      case Kind::list:
        return read_list(type, expr);
      case Kind::names:
        return read_names(type, expr);
      case Kind::slice:
        return read_slice(type, expr);
    }
    return std::nullopt;
  }

 private:
  bool in_range(const ParameterType& type, double value, const ast::Expr& expr) {
    bool above = !type.low || (type.low_closed ? value >= *type.low : value > *type.low);
    bool below = !type.high || (type.high_closed ? value <= *type.high : value < *type.high);
    if (above && below) return true;
    std::string range = std::string(type.low_closed ? "[" : "(") +
                        (std::isinf(*type.low) ? "-inf" : plan::number_text(*type.low)) + ", " +
                        (std::isinf(*type.high) ? "inf" : plan::number_text(*type.high)) +
                        (type.high_closed ? "]" : ")");
    context_.engine.report(Code::L057, expr.span, {type.name, plan::number_text(value), range});
    return false;
  }

  std::optional<json> read_list(const ParameterType& type, const ast::Expr& expr) {
    const auto* list = std::get_if<ast::List>(&ast::strip(expr).node);
    if (!list) {
      context_.engine.report(Code::L050, expr.span,
                             {"a list for `" + type.name + "`, as in `[32, 64]`", describe(expr)});
      return std::nullopt;
    }
    json result = json::array();
    for (const ast::ExprPtr& element : list->elements) {
      auto value = read(type, type.element, *element);
      if (!value) return std::nullopt;
      result.push_back(std::move(*value));
    }
    return result;
  }

  std::optional<json> read_names(const ParameterType& type, const ast::Expr& expr) {
    if (const auto* list = std::get_if<ast::List>(&ast::strip(expr).node)) {
      json result = json::array();
      for (const ast::ExprPtr& element : list->elements) {
        auto value = read_text(context_, *element, type.name);
        if (!value) return std::nullopt;
        result.push_back(*value);
      }
      return result;
    }
    auto value = read_text(context_, expr, type.name);
    return value ? std::optional<json>(*value) : std::nullopt;
  }

  /// `all`, `first(90%)`, `last(1000 samples)`.
  std::optional<json> read_slice(const ParameterType& type, const ast::Expr& expr) {
    if (as_name(expr) == "all") return json("all");
    const ast::Call* call = as_call(expr);
    if (!call || (call->callee.dotted() != "first" && call->callee.dotted() != "last") ||
        call->args.size() != 1 || call->args[0].name) {
      context_.engine.report(
          Code::L050, expr.span,
          {"`first(90%)`, `last(1000 samples)` or `all` for `" + type.name + "`", describe(expr)});
      return std::nullopt;
    }
    const ast::Expr& part = *call->args[0].value;
    auto scalar = read_scalar(context_, part);
    if (!scalar) return std::nullopt;
    double value = scalar->constant().value_or(0);
    if (scalar->dim == Dim::none && !scalar->percent) {
      context_.engine.report(Code::L054, part.span, {type.name, describe(*scalar), "samples or a percentage"})
          .help("such as `first(90%)` or `first(1000 samples)`");
      return std::nullopt;
    }
    if (scalar->dim != Dim::none && scalar->dim != Dim::samples) {
      context_.engine.report(Code::L052, part.span,
                             {"samples or a percentage for `" + type.name + "`", describe(*scalar)});
      return std::nullopt;
    }
    if (scalar->percent && !(value > 0 && value <= 1)) {
      context_.engine.report(Code::L057, part.span, {type.name, describe(*scalar), "(0%, 100%]"});
      return std::nullopt;
    }
    if (!scalar->percent && (value <= 0 || value != std::floor(value))) {
      context_.engine.report(value <= 0 ? Code::L056 : Code::L055, part.span, {type.name, describe(*scalar)});
      return std::nullopt;
    }
    json amount =
        scalar->percent ? json(value) : json{{"value", static_cast<int64_t>(value)}, {"unit", "samples"}};
    return json{{"call", call->callee.dotted()}, {"args", json::array({amount})}};
  }

  Context& context_;
  ReadArguments& out_;
};

}  // namespace

std::optional<std::vector<ParameterType>> declared_parameters(Context& context,
                                                              const Definition& descriptor) {
  std::vector<ParameterType> result;
  if (!descriptor.head->args) return result;
  DeclarationReader reader(context);
  for (const ast::Arg& arg : *descriptor.head->args) {
    auto type = reader.read(arg);
    if (!type) return std::nullopt;
    result.push_back(std::move(*type));
  }
  return result;
}

std::optional<ReadArguments> read_arguments(Context& context, const Definition& descriptor,
                                            const std::vector<ast::Arg>& args, Span span,
                                            const DecidedElsewhere& elsewhere) {
  auto types = declared_parameters(context, descriptor);
  if (!types) return std::nullopt;
  std::vector<std::string> names;
  for (const ParameterType& type : *types) names.push_back(type.name);
  NamedArguments matched = match_arguments(context, args, descriptor.name, names, names.size());
  bool good = matched.good;

  ReadArguments result;
  ArgumentReader reader(context, result);
  for (size_t i = 0; i < types->size(); ++i) {
    const ParameterType& type = (*types)[i];
    if (const ast::Arg* arg = matched.values[i]) {
      result.spans[type.name] = arg->value->span;
      auto value = reader.read(type, type.kind, *arg->value);
      if (value) result.values[type.name] = std::move(*value);
      good = good && value;
      continue;
    }
    if (type.fallback) {
      auto name = as_name(*type.fallback);
      if (name == "none" && type.kind != Kind::choice) continue;
      if (name) {
        if (auto decided = elsewhere.find(*name); decided != elsewhere.end()) {
          if (!decided->second.is_null()) result.values[type.name] = decided->second;
          continue;
        }
      }
      if (!name || type.kind == Kind::choice || type.kind == Kind::boolean || type.kind == Kind::slice) {
        auto value = reader.read(type, type.kind, *type.fallback);
        if (value) result.values[type.name] = std::move(*value);
        good = good && value;
        continue;
      }
    }
    if (!matched.good) continue;  // a misspelt argument may be this one
    auto& finding = context.engine.report(Code::L067, span, {type.name, descriptor.name});
    if (!type.choices.empty()) {
      std::vector<std::string> choices;
      for (const std::string& choice : type.choices) choices.push_back("`" + choice + "`");
      finding.help("`" + type.name + "` is " + base::enumerate(choices));
    }
    good = false;
  }
  if (!good) return std::nullopt;
  return result;
}

std::optional<json> to_json(Context& context, const ast::Expr& expr) {
  const ast::Expr& inner = ast::strip(expr);
  if (const auto* text = std::get_if<ast::Text>(&inner.node)) return json(text->value);
  if (const auto* path = std::get_if<ast::Path>(&inner.node)) {
    std::string name = path->dotted();
    if (name == "true" || name == "false") return json(name == "true");
    return json(name);
  }
  if (const auto* list = std::get_if<ast::List>(&inner.node)) {
    json result = json::array();
    for (const ast::ExprPtr& element : list->elements) {
      auto value = to_json(context, *element);
      if (!value) return std::nullopt;
      result.push_back(std::move(*value));
    }
    return result;
  }
  if (const auto* call = std::get_if<ast::Call>(&inner.node)) {
    json args = json::array();
    for (const ast::Arg& arg : call->args) {
      auto value = to_json(context, *arg.value);
      if (!value) return std::nullopt;
      args.push_back(std::move(*value));
    }
    return json{{"call", call->callee.dotted()}, {"args", args}};
  }
  auto scalar = read_scalar(context, inner);
  if (!scalar || !scalar->constant()) return std::nullopt;
  double value = *scalar->constant();
  bool whole = value == std::floor(value) && std::abs(value) <= 9007199254740992.0;
  json number = whole ? json(static_cast<int64_t>(value)) : json(value);
  if (scalar->dim == Dim::none) return number;
  std::string unit = scalar->dim == Dim::seconds ? "s" : scalar->dim == Dim::bytes ? "B" : name(scalar->dim);
  return json{{"value", number}, {"unit", unit}};
}

}  // namespace loop::sema
