#include "compiler/sema/descriptors.h"

#include <algorithm>

#include "compiler/base/text.h"
#include "compiler/sema/component_args.h"
#include "compiler/sema/descriptor_values.h"

namespace loop::sema {

using diagnostics::Code;
using plan::json;

namespace {

constexpr size_t kMaxParameters = 100'000;  // named tensors of one model

/// `name(args)` or a bare name.
struct Written {
  std::string name;
  Span name_span;
  std::vector<ast::Arg> args;
};
std::optional<Written> as_component(Context& context, const ast::Expr& expr, const std::string& wanted) {
  const ast::Expr& inner = ast::strip(expr);
  if (const auto* call = std::get_if<ast::Call>(&inner.node))
    return Written{call->callee.dotted(), call->callee.span, call->args};
  if (const auto* path = std::get_if<ast::Path>(&inner.node)) return Written{path->dotted(), path->span, {}};
  context.engine.report(Code::L050, expr.span, {wanted, describe(expr)});
  return std::nullopt;
}

/// What only the data decides.
DescriptorNames from_data() {
  DescriptorNames names;
  for (const char* name : {"vocabulary", "features", "classes", "planes"}) names[name] = nullptr;
  return names;
}

/// The statements of a descriptor, by keyword.
class Facts {
 public:
  Facts(Context& context, const Definition& descriptor, const DescriptorNames& names)
      : context_(context), descriptor_(descriptor), names_(names) {}

  const ast::Head* find(std::string_view keyword) const {
    if (!descriptor_.head->block) return nullptr;
    for (const ast::ItemPtr& item : descriptor_.head->block->items) {
      const auto* head = std::get_if<ast::Head>(&item->node);
      if (head && head->keyword.text == keyword) return head;
    }
    return nullptr;
  }

  bool truth(std::string_view keyword, bool fallback) const {
    const ast::Head* head = find(keyword);
    if (!head || !head->value) return fallback;
    auto value = evaluate(context_, *head->value, names_);
    return value && value->is_boolean() ? value->get<bool>() : fallback;
  }

  std::optional<int64_t> whole(std::string_view keyword) const {
    const ast::Head* head = find(keyword);
    if (!head || !head->value) return std::nullopt;
    auto value = evaluate(context_, *head->value, names_);
    if (!value || !value->is_number()) return std::nullopt;
    return static_cast<int64_t>(value->get<double>());
  }

  std::string text(std::string_view keyword) const {
    const ast::Head* head = find(keyword);
    if (!head || !head->value) return "";
    const auto* text = std::get_if<ast::Text>(&ast::strip(*head->value).node);
    return text ? text->value : as_name(*head->value).value_or("");
  }

  std::vector<std::string> list(std::string_view keyword) const {
    std::vector<std::string> result;
    const ast::Head* head = find(keyword);
    if (!head || !head->value) return result;
    if (const auto* list = std::get_if<ast::List>(&ast::strip(*head->value).node))
      for (const ast::ExprPtr& element : list->elements) result.push_back(as_name(*element).value_or(""));
    return result;
  }

  /// `require(condition, "message")`
  bool requirements(Span place) const {
    bool good = true;
    if (!descriptor_.head->block) return good;
    for (const ast::ItemPtr& item : descriptor_.head->block->items) {
      const auto* head = std::get_if<ast::Head>(&item->node);
      if (!head || head->keyword.text != "require" || !head->args || head->args->size() != 2) continue;
      auto holds = evaluate(context_, *(*head->args)[0].value, names_);
      const auto* message = std::get_if<ast::Text>(&ast::strip(*(*head->args)[1].value).node);
      if (!holds || !holds->is_boolean() || holds->get<bool>() || !message) continue;
      context_.engine.report(Code::L049, place, {descriptor_.name, message->value});
      good = false;
    }
    return good;
  }

 private:
  Context& context_;
  const Definition& descriptor_;
  const DescriptorNames& names_;
};

/// `parameters { tensor("name", [shape]); repeat(i: count) { … }; when condition { … } }`
class ParameterLister {
 public:
  ParameterLister(Context& context, DescriptorNames names, Span place)
      : context_(context), names_(std::move(names)), place_(place) {}

  bool list(const std::vector<ast::ItemPtr>& items) {
    for (const ast::ItemPtr& item : items)
      if (!std::visit([&](const auto& node) { return read(node, item->span); }, item->node)) return false;
    return true;
  }
  std::vector<ParameterInfo> take() { return std::move(parameters_); }

 private:
  bool read(const ast::Use&, Span span) { return refuse("use", span); }

  bool read(const ast::When& when, Span) {
    auto condition = evaluate(context_, *when.condition, names_);
    if (!condition) return false;
    return !condition->is_boolean() || !condition->get<bool>() || list(when.body.items);
  }

  bool read(const ast::Head& head, Span span) {
    if (head.keyword.text == "repeat" && head.block && head.args && head.args->size() == 1 &&
        head.args->front().name)
      return repeat(head);
    if (head.keyword.text == "tensor" && head.args && head.args->size() == 2) return tensor(head, span);
    return refuse(head.keyword.text, head.keyword.span);
  }

  bool repeat(const ast::Head& head) {
    const std::string& index = head.args->front().name->text;
    auto count = evaluate(context_, *head.args->front().value, names_);
    if (!count || !count->is_number()) return false;
    double times = count->get<double>();
    for (double i = 0; i < times; ++i) {
      names_[index] = i;
      if (!list(head.block->items)) return false;
    }
    names_.erase(index);
    return true;
  }

  bool tensor(const ast::Head& head, Span span) {
    const auto* text = std::get_if<ast::Text>(&ast::strip(*(*head.args)[0].value).node);
    auto shape = evaluate(context_, *(*head.args)[1].value, names_);
    if (!text || !shape || !shape->is_array()) return refuse("tensor", span);
    if (parameters_.size() == kMaxParameters) {
      context_.engine.report(
          Code::L049, place_,
          {"the model", "it has more than " + std::to_string(kMaxParameters) + " named tensors"});
      return false;
    }
    ParameterInfo info{fill_in(text->value, names_), {}};
    for (const json& extent : *shape)
      info.shape.push_back(extent.is_number() ? static_cast<int64_t>(extent.get<double>()) : -1);
    parameters_.push_back(std::move(info));
    return true;
  }

  bool refuse(const std::string& keyword, Span span) {
    context_.engine.report(Code::L040, span, {keyword, "parameters"})
        .help(
            "`parameters` has `tensor(\"name\", [shape])`, `repeat(i: count) { … }` and `when condition { … "
            "}`");
    return false;
  }

  Context& context_;
  DescriptorNames names_;
  Span place_;
  std::vector<ParameterInfo> parameters_;
};

DescriptorNames names_of(const ReadArguments& arguments, const std::vector<ParameterType>& types) {
  DescriptorNames names = from_data();
  for (const ParameterType& type : types) names[type.name] = nullptr;
  for (const auto& [name, value] : arguments.values.items()) names[name] = value;
  return names;
}

/// Arguments of a component nobody describes, as they stand.
std::optional<json> untyped_arguments(Context& context, const std::vector<ast::Arg>& args) {
  json result = json::object();
  size_t position = 0;
  for (const ast::Arg& arg : args) {
    auto value = to_json(context, *arg.value);
    if (!value) return std::nullopt;
    result[arg.name ? arg.name->text : std::to_string(position++)] = std::move(*value);
  }
  return result;
}

std::vector<std::string> known_names(Context& context, Definition::Kind kind, base::FileId file) {
  std::vector<std::string> names = context.modules.standard_names(kind);
  for (std::string& visible : context.modules.visible_names(kind, file)) names.push_back(std::move(visible));
  return names;
}

}  // namespace

const Definition* find_component(Context& context, Definition::Kind kind, const std::string& name,
                                 base::FileId file) {
  const Definition* visible = context.modules.find(name, file);
  if (visible && visible->kind == kind) return visible;
  return context.modules.find_standard(kind, name);
}

std::optional<ModelUse> read_model(Context& context, const ast::Expr& expr) {
  auto written =
      as_component(context, expr, "a model, as in `gpt(layers: 4, heads: 4, width: 128, context: 64)`");
  if (!written) return std::nullopt;
  ModelUse result;
  result.span = expr.span;
  result.component.name = written->name;
  const Definition* descriptor =
      find_component(context, Definition::Kind::model, written->name, written->name_span.file);
  if (!descriptor) {
    auto& finding = context.engine.report(Code::L074, written->name_span, {written->name});
    suggest(finding, written->name_span, written->name,
            known_names(context, Definition::Kind::model, written->name_span.file));
    auto arguments = untyped_arguments(context, written->args);
    if (!arguments) return std::nullopt;
    result.component.args = std::move(*arguments);
    return result;
  }
  auto arguments = read_arguments(context, *descriptor, written->args, expr.span, from_data());
  auto types = declared_parameters(context, *descriptor);
  if (!arguments || !types) return std::nullopt;
  result.component.args = arguments->values;
  DescriptorNames names = names_of(*arguments, *types);
  Facts facts(context, *descriptor, names);
  if (!facts.requirements(expr.span)) return std::nullopt;
  result.facts.known = true;
  result.facts.batch_norm = facts.truth("batch_norm", false);
  result.facts.couples_samples = facts.truth("couples", false);
  result.facts.random = facts.truth("random", false);
  result.facts.context = facts.whole("context");
  auto recompute = arguments->values.find("recompute");
  result.facts.recompute = recompute != arguments->values.end() && *recompute != "none";
  if (const ast::Head* parameters = facts.find("parameters"); parameters && parameters->block) {
    ParameterLister lister(context, names, expr.span);
    if (!lister.list(parameters->block->items)) return std::nullopt;
    result.facts.parameters = lister.take();
  }
  return result;
}

std::optional<SourceUse> read_source(Context& context, const ast::Head& item,
                                     const ComponentSurroundings& around) {
  const ast::Expr& expr = *item.value;
  auto written = as_component(context, expr, "a source, as in `text(\"corpus.txt\", tokenizer: char)`");
  if (!written) return std::nullopt;
  const Definition* descriptor =
      find_component(context, Definition::Kind::source, written->name, written->name_span.file);
  if (!descriptor) {
    auto& finding = context.engine.report(Code::L065, written->name_span, {"source", written->name});
    suggest(finding, written->name_span, written->name,
            known_names(context, Definition::Kind::source, written->name_span.file));
    return std::nullopt;
  }
  DecidedElsewhere elsewhere = from_data();
  if (around.context) elsewhere["context"] = *around.context;
  auto arguments = read_arguments(context, *descriptor, written->args, expr.span, elsewhere);
  auto types = declared_parameters(context, *descriptor);
  if (!arguments || !types) return std::nullopt;
  DescriptorNames names = names_of(*arguments, *types);
  Facts facts(context, *descriptor, names);
  SourceUse result;
  result.span = expr.span;
  result.name_span = item.keyword.span;
  result.source.name = item.keyword.text;
  result.source.component = {written->name, arguments->values};
  result.files = arguments->files;
  result.facts.known = true;
  result.facts.finite = facts.truth("finite", true);
  result.facts.equal_counts = facts.truth("equal_counts", false);
  result.facts.split_by_file = facts.truth("split_by_file", false);
  result.facts.size_samples = facts.whole("size");
  auto take = arguments->values.find("take");
  if (!result.facts.size_samples && take != arguments->values.end() && take->is_object()) {
    const json& amount = (*take)["args"][0];
    if (amount.is_object()) result.facts.size_samples = amount["value"].get<int64_t>();
  }
  return result;
}

std::optional<LossUse> read_loss_call(Context& context, const ast::Call& call, Span span) {
  std::string name = call.callee.dotted();
  const Definition* descriptor = find_component(context, Definition::Kind::loss, name, call.callee.span.file);
  if (!descriptor) {
    auto& finding = context.engine.report(Code::L065, call.callee.span, {"loss", name});
    suggest(finding, call.callee.span, name,
            known_names(context, Definition::Kind::loss, call.callee.span.file));
    return std::nullopt;
  }
  auto arguments = read_arguments(context, *descriptor, call.args, span, {});
  auto types = declared_parameters(context, *descriptor);
  if (!arguments || !types) return std::nullopt;
  DescriptorNames names = names_of(*arguments, *types);
  Facts facts(context, *descriptor, names);
  LossUse result;
  result.component = {name, arguments->values};
  result.facts.known = true;
  result.facts.decomposes = facts.truth("decomposes", true);
  result.facts.coupling = facts.text("coupling");
  result.facts.masked = arguments->values.contains("ignore");
  if (result.facts.masked && arguments->values["ignore"].is_number())
    result.ignore = arguments->values["ignore"].get<int64_t>();
  result.units = facts.list("units");
  result.metrics = facts.list("metrics");
  return result;
}

}  // namespace loop::sema
