#include "compiler/sema/tree.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "compiler/base/text.h"
#include "compiler/sema/scalar.h"
#include "compiler/sema/substitute.h"
#include "compiler/syntax/parser.h"

namespace loop::sema {

using diagnostics::Code;

namespace {

ast::ItemPtr make(ast::Head head, Span span) {
  return std::make_shared<const ast::Item>(ast::Item{std::move(head), span});
}

std::string key_of(const ast::Item& item) {
  const auto* head = std::get_if<ast::Head>(&item.node);
  if (!head) return "";
  return head->name ? head->keyword.text + " " + head->name->text : head->keyword.text;
}

bool is_program(const ast::Head& head) {
  return head.keyword.text == "micro" || head.keyword.text == "update";
}

bool is_identifier(const std::string& text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

class Expander {
 public:
  explicit Expander(Context& context) : context_(context) {}

  std::optional<std::vector<ast::ItemPtr>> loop(const Definition& definition, const Bindings& bindings) {
    if (std::find(open_.begin(), open_.end(), &definition) != open_.end()) {
      report_circle(definition);
      return std::nullopt;
    }
    open_.push_back(&definition);
    auto result =
        definition.head->assign == ast::Assign::none ? block(definition, bindings) : instance(definition);
    open_.pop_back();
    return result;
  }

 private:
  using Items = std::optional<std::vector<ast::ItemPtr>>;

  /// Told from the loop that stands first, so that every way into the circle gives the same finding.
  void report_circle(const Definition& again) {
    std::vector<const Definition*> circle(std::find(open_.begin(), open_.end(), &again), open_.end());
    auto earlier = [](const Definition* a, const Definition* b) {
      return std::pair(a->file.value, a->item->span.begin) < std::pair(b->file.value, b->item->span.begin);
    };
    std::rotate(circle.begin(), std::min_element(circle.begin(), circle.end(), earlier), circle.end());
    std::string chain;
    for (const Definition* one : circle) chain += one->name + " → ";
    context_.engine.report(Code::L039, circle.front()->head->name->span, {chain + circle.front()->name});
  }

  Items block(const Definition& definition, const Bindings& bindings) {
    const ast::Head& head = *definition.head;
    if (!head.block) {
      context_.engine.report(Code::L047, head.keyword.span, {head.keyword.text});
      return std::nullopt;
    }
    std::vector<ast::ItemPtr> own = Substitution(context_, bindings).items(head.block->items);
    if (!head.extends) return own;
    std::string base_name = head.extends->dotted();
    const Definition* base = context_.modules.find(base_name, head.extends->span.file);
    if (!base || (base->kind != Definition::Kind::loop && base->kind != Definition::Kind::recipe)) {
      unknown_loop(base_name, head.extends->span, base, {Definition::Kind::loop, Definition::Kind::recipe});
      return std::nullopt;
    }
    Items inherited;
    if (base->kind == Definition::Kind::recipe) {
      auto defaults = bind(*base, {}, head.extends->span);
      if (!defaults) return std::nullopt;
      inherited = loop(*base, *defaults);
    } else {
      inherited = loop(*base, {});
    }
    if (!inherited) return std::nullopt;
    return merge(*inherited, own);
  }

  /// `loop x = recipe(param: value) { … }`
  Items instance(const Definition& definition) {
    const ast::Head& head = *definition.head;
    const ast::Expr& value = ast::strip(*head.value);
    ast::Path callee;
    std::vector<ast::Arg> args;
    if (const auto* call = std::get_if<ast::Call>(&value.node)) {
      callee = call->callee;
      args = call->args;
    } else if (const auto* path = std::get_if<ast::Path>(&value.node)) {
      callee = *path;
    } else {
      context_.engine.report(Code::L050, value.span,
                             {"a recipe, as in `loop small = my_recipe(width: 64)`", describe(value)});
      return std::nullopt;
    }
    const Definition* recipe = context_.modules.find(callee.dotted(), callee.span.file);
    if (!recipe || recipe->kind != Definition::Kind::recipe) {
      unknown_loop(callee.dotted(), callee.span, recipe, {Definition::Kind::recipe});
      return std::nullopt;
    }
    auto bindings = bind(*recipe, args, value.span);
    if (!bindings) return std::nullopt;
    Items items = loop(*recipe, *bindings);
    if (!items || !head.block) return items;
    return merge(*items, Substitution(context_, {}).items(head.block->items));
  }

  void unknown_loop(const std::string& name, Span span, const Definition* other,
                    const std::vector<Definition::Kind>& kinds) {
    std::string wanted = kinds.front() == Definition::Kind::loop ? "loop" : "recipe";
    auto& finding = context_.engine.report(Code::L038, span, {wanted, name});
    if (other) {
      finding.also(other->head->name->span,
                   "`" + name + "` is " + sema::name(other->kind) + ", defined here");
      return;
    }
    std::vector<std::string> candidates;
    for (Definition::Kind kind : kinds)
      for (std::string& visible : context_.modules.visible_names(kind, span.file))
        candidates.push_back(std::move(visible));
    suggest(finding, span, name, candidates);
  }

  /// Recipe parameters with what the call gives them, else their defaults.
  std::optional<Bindings> bind(const Definition& recipe, const std::vector<ast::Arg>& args, Span span) {
    struct Parameter {
      std::string name;
      ast::ExprPtr fallback;
      const ast::Arg* written;
    };
    std::vector<Parameter> parameters;
    std::vector<std::string> names;
    if (recipe.head->args) {
      for (const ast::Arg& arg : *recipe.head->args) {
        const auto* bare = std::get_if<ast::Path>(&arg.value->node);
        if (!arg.name && !bare) {
          context_.engine.report(Code::L050, arg.span, {"a parameter's name", describe(*arg.value)});
          return std::nullopt;
        }
        parameters.push_back(
            {arg.name ? arg.name->text : bare->dotted(), arg.name ? arg.value : nullptr, &arg});
        names.push_back(parameters.back().name);
      }
    }
    Bindings bindings;
    size_t position = 0;
    Substitution in_caller(context_, {});
    bool good = true;
    for (const ast::Arg& arg : args) {
      std::string name;
      if (arg.name) {
        name = arg.name->text;
        if (std::find(names.begin(), names.end(), name) == names.end()) {
          suggest(context_.engine.report(Code::L066, arg.name->span, {name, recipe.name}), arg.name->span,
                  name, names);
          good = false;
          continue;
        }
      } else if (position < names.size()) {
        name = names[position++];
      } else {
        context_.engine.report(Code::L069, arg.span, {recipe.name, std::to_string(args.size())});
        return std::nullopt;
      }
      if (!bindings.emplace(name, in_caller.expr(arg.value)).second) {
        context_.engine.report(Code::L068, arg.span, {name});
        good = false;
      }
    }
    for (const Parameter& parameter : parameters) {
      auto bound = bindings.find(parameter.name);
      if (bound == bindings.end()) {
        if (!parameter.fallback) {
          context_.engine.report(Code::L067, span, {parameter.name, recipe.name})
              .also(parameter.written->span, "declared without a default here");
          good = false;
          continue;
        }
        bound = bindings.emplace(parameter.name, Substitution(context_, {}).expr(parameter.fallback)).first;
      }
      if (parameter.written->range)
        good = in_range(*bound->second, parameter.name, *parameter.written->range) && good;
    }
    if (!good) return std::nullopt;
    return bindings;
  }

  bool in_range(const ast::Expr& value, const std::string& name, const ast::Interval& range) {
    NumericScope scope;
    scope.allow_infinity = true;
    auto low = read_scalar(context_, *range.low, scope);
    auto high = read_scalar(context_, *range.high, scope);
    auto number = read_scalar(context_, value);
    if (!low || !high || !number || !low->constant() || !high->constant() || !number->constant())
      return false;
    double x = *number->constant();
    bool above = range.low_closed ? x >= *low->constant() : x > *low->constant();
    bool below = range.high_closed ? x <= *high->constant() : x < *high->constant();
    if (above && below) return true;
    context_.engine
        .report(Code::L057, value.span,
                {name, plan::number_text(x), std::string(context_.sources.text(range.span))})
        .also(range.span, "the range is declared here");
    return false;
  }

  Context& context_;
  std::vector<const Definition*> open_;
};

/// Where an override goes in; creates the blocks on the way that may stand alone.
class Overrider {
 public:
  Overrider(Context& context, const Override& override_) : context_(context), override_(override_) {}

  std::vector<ast::ItemPtr> set(const std::vector<ast::ItemPtr>& items, size_t at) {
    static const std::set<std::string> kBlocks = {"window",    "data",   "log", "checkpoint",
                                                  "nonfinite", "params", "loss"};
    const std::vector<std::string>& path = override_.path;
    const std::string& key = path[at];
    size_t left = path.size() - at;
    std::vector<ast::ItemPtr> result = items;

    if (key == "micro" || key == "update") {
      refuse("operations are changed in the file, not from the command line");
      return result;
    }
    for (ast::ItemPtr& item : result) {
      const auto* head = std::get_if<ast::Head>(&item->node);
      if (!head || head->keyword.text != key) continue;
      size_t used = 1;
      if (head->name) {
        if (left < 2 || head->name->text != path[at + 1]) continue;
        used = 2;
      }
      ast::Head copy = *head;
      if (left == used) {
        if (head->block && at == 0 && used == 1 && head->assign == ast::Assign::none &&
            kBlocks.count(key) == 0) {
          refuse("`" + key + "` is a block; name a key inside it");
          return result;
        }
        copy.block.reset();
        copy.clauses.clear();
        copy.args.reset();
        copy.assign = ast::Assign::equals;
        copy.value = override_.value;
        copy.keyword.span = override_.span;
        item = make(std::move(copy), override_.span);
        return result;
      }
      if (copy.block) {
        copy.block->items = set(copy.block->items, at + used);
        item = make(std::move(copy), item->span);
        return result;
      }
      if (copy.value && left == used + 1) {
        if (const auto* call = std::get_if<ast::Call>(&ast::strip(*copy.value).node)) {
          copy.value = with_argument(*call, path[at + used], copy.value->span);
          item = make(std::move(copy), item->span);
          return result;
        }
      }
      refuse("`" + key + "` has no keys inside it in this loop");
      return result;
    }

    if (left == 1) {
      ast::Head head;
      head.keyword = {key, override_.span};
      head.assign = ast::Assign::equals;
      head.value = override_.value;
      result.push_back(make(std::move(head), override_.span));
      return result;
    }
    if (left == 2 && kBlocks.count(key) > 0) {
      ast::Head head;
      head.keyword = {key, override_.span};
      head.block = ast::Block{set({}, at + 1), override_.span};
      result.push_back(make(std::move(head), override_.span));
      return result;
    }
    refuse("this loop has no `" + key + (left > 2 ? " " + path[at + 1] : "") + "`");
    return result;
  }

 private:
  ast::ExprPtr with_argument(const ast::Call& call, const std::string& name, Span span) {
    ast::Call copy = call;
    ast::Arg arg{ast::Name{name, override_.span}, override_.value, std::nullopt, override_.span};
    auto found = std::find_if(copy.args.begin(), copy.args.end(),
                              [&](const ast::Arg& one) { return one.name && one.name->text == name; });
    if (found == copy.args.end())
      copy.args.push_back(arg);
    else
      *found = arg;
    return std::make_shared<const ast::Expr>(ast::Expr{std::move(copy), span});
  }

  void refuse(const std::string& why) {
    std::string dotted;
    for (const std::string& part : override_.path) dotted += (dotted.empty() ? "" : ".") + part;
    context_.engine.report(Code::L091, override_.span, {dotted, why});
  }

  Context& context_;
  const Override& override_;
};

}  // namespace

std::vector<ast::ItemPtr> merge(const std::vector<ast::ItemPtr>& base,
                                const std::vector<ast::ItemPtr>& derived) {
  std::vector<ast::ItemPtr> result = base;
  std::set<std::string> taken;
  for (const ast::ItemPtr& item : derived) {
    const auto* head = std::get_if<ast::Head>(&item->node);
    std::string key = key_of(*item);
    // A key the derived loop writes twice stays twice, so that the repetition is found.
    if (!head || !taken.insert(key).second) {
      result.push_back(item);
      continue;
    }
    auto place = std::find_if(result.begin(), result.end(),
                              [&](const ast::ItemPtr& one) { return key_of(*one) == key; });
    if (place == result.end()) {
      result.push_back(item);
      continue;
    }
    const auto& old = std::get<ast::Head>((*place)->node);
    if (head->block && old.block && !is_program(*head)) {
      ast::Head joined = *head;
      joined.block->items = merge(old.block->items, head->block->items);
      *place = make(std::move(joined), item->span);
    } else {
      *place = item;
    }
  }
  return result;
}

std::vector<Override> read_overrides(Context& context, const std::vector<std::string>& texts) {
  std::vector<Override> result;
  for (const std::string& text : texts) {
    size_t equals = text.find('=');
    std::string key = text.substr(0, equals);
    while (!key.empty() && key.back() == ' ') key.pop_back();
    Override one;
    one.text = text;
    std::string part;
    bool good = equals != std::string::npos && !key.empty();
    for (size_t i = 0; good && i <= key.size(); ++i) {
      if (i < key.size() && key[i] != '.') {
        part += key[i];
        continue;
      }
      good = is_identifier(part);
      one.path.push_back(part);
      part.clear();
    }
    std::string value = good ? text.substr(equals + 1) : text;
    size_t first = value.find_first_not_of(" \t\n");
    if (!good || first == std::string::npos) {
      base::FileId file = context.sources.add("--set", text);
      context.engine.report(Code::L090, {file, 0, static_cast<uint32_t>(text.size())}, {text});
      continue;
    }
    base::FileId file = context.sources.add("--set " + key, value);
    context.modules.alias(file, context.modules.root().file.id);
    one.value = syntax::parse_expression(context.sources, file, context.engine);
    if (!one.value) continue;
    one.value = Substitution(context, {}).expr(one.value);
    one.span = one.value->span;
    result.push_back(std::move(one));
  }
  return result;
}

std::optional<LoopTree> expand(Context& context, const Definition& loop) {
  auto items = Expander(context).loop(loop, {});
  if (!items) return std::nullopt;
  return LoopTree{loop.name, loop.head->name->span, loop.item->span, std::move(*items)};
}

void apply(Context& context, const std::vector<Override>& overrides, LoopTree& tree) {
  for (const Override& one : overrides) tree.items = Overrider(context, one).set(tree.items, 0);
}

namespace {

/// Names an expression mentions, for the search for circular constants.
void collect_names(const ast::Expr& expr, std::vector<std::pair<std::string, Span>>& names) {
  struct Visitor {
    std::vector<std::pair<std::string, Span>>& names;
    Span span;
    void operator()(const ast::Path& node) const { names.emplace_back(node.dotted(), span); }
    void operator()(const ast::Call& node) const {
      for (const ast::Arg& arg : node.args) collect_names(*arg.value, names);
    }
    void operator()(const ast::List& node) const {
      for (const ast::ExprPtr& element : node.elements) collect_names(*element, names);
    }
    void operator()(const ast::Range& node) const { both(*node.from, *node.to); }
    void operator()(const ast::Unary& node) const { collect_names(*node.operand, names); }
    void operator()(const ast::Binary& node) const { both(*node.left, *node.right); }
    void operator()(const ast::Conditional& node) const {
      collect_names(*node.condition, names);
      both(*node.then_value, *node.else_value);
    }
    void operator()(const ast::Parenthesized& node) const { collect_names(*node.inner, names); }
    void operator()(const ast::Number&) const {}
    void operator()(const ast::Percent&) const {}
    void operator()(const ast::Text&) const {}
    void operator()(const ast::Quantity&) const {}
    void both(const ast::Expr& a, const ast::Expr& b) const {
      collect_names(a, names);
      collect_names(b, names);
    }
  };
  std::visit(Visitor{names, expr.span}, expr.node);
}

enum class Visit { open, done };

bool find_circle(Context& context, const Definition& constant, std::map<const Definition*, Visit>& seen,
                 int depth) {
  constexpr int kMaxChain = 2000;
  auto [at, inserted] = seen.emplace(&constant, Visit::open);
  if (!inserted) {
    if (at->second == Visit::done) return false;
    context.engine.report(Code::L037, constant.head->name->span, {constant.name});
    return true;
  }
  bool circular = depth > kMaxChain;
  std::vector<std::pair<std::string, Span>> names;
  if (constant.head->value) collect_names(*constant.head->value, names);
  for (const auto& [mentioned, span] : names) {
    const Definition* other = context.modules.find(mentioned, constant.file);
    if (other && other->kind == Definition::Kind::constant && !circular)
      circular = find_circle(context, *other, seen, depth + 1);
  }
  seen[&constant] = Visit::done;
  return circular;
}

bool looks_numeric(const ast::Expr& expr) {
  const ast::Expr& inner = ast::strip(expr);
  return std::holds_alternative<ast::Number>(inner.node) ||
         std::holds_alternative<ast::Percent>(inner.node) ||
         std::holds_alternative<ast::Quantity>(inner.node) ||
         std::holds_alternative<ast::Unary>(inner.node) || std::holds_alternative<ast::Binary>(inner.node) ||
         std::holds_alternative<ast::Conditional>(inner.node);
}

}  // namespace

bool check_constants(Context& context, const Module& module) {
  bool good = true;
  std::map<const Definition*, Visit> seen;
  for (const auto& [name, definition] : module.definitions) {
    if (definition.kind != Definition::Kind::constant) continue;
    if (!definition.head->value) {
      context.engine.report(Code::L047, definition.head->keyword.span, {"const"});
      continue;
    }
    if (find_circle(context, definition, seen, 0)) good = false;
  }
  if (!good) return false;
  for (const auto& [name, definition] : module.definitions) {
    if (definition.kind != Definition::Kind::constant || !definition.head->value) continue;
    if (looks_numeric(*definition.head->value)) read_scalar(context, *definition.head->value);
  }
  return true;
}

}  // namespace loop::sema
