#include "compiler/sema/groups.h"

#include <algorithm>
#include <functional>

#include "compiler/base/text.h"
#include "compiler/sema/values.h"
#include "runtime/plan/glob.h"

namespace loop::sema {

using diagnostics::Code;
using plan::Predicate;

namespace {

class PredicateReader {
 public:
  explicit PredicateReader(Context& context) : context_(context) {}

  std::optional<Predicate> read(const ast::Expr& expr) {
    const ast::Expr& inner = ast::strip(expr);
    if (const auto* text = std::get_if<ast::Text>(&inner.node)) return glob(text->value);
    if (const auto* list = std::get_if<ast::List>(&inner.node)) return any_of(list->elements, inner);
    if (auto name = as_name(inner)) {
      if (*name == "others" || *name == "all") {
        Predicate predicate;
        predicate.kind = *name == "all" ? Predicate::Kind::all : Predicate::Kind::others;
        return predicate;
      }
      suggest(context_.engine.report(Code::L062, inner.span, {*name}), inner.span, *name,
              {"others", "all", "ndim"});
      return std::nullopt;
    }
    if (const auto* unary = std::get_if<ast::Unary>(&inner.node);
        unary && unary->op == ast::UnaryOp::logical_not) {
      auto operand = read(*unary->operand);
      if (!operand) return std::nullopt;
      return joined(Predicate::Kind::logical_not, {std::move(*operand)});
    }
    if (const auto* binary = std::get_if<ast::Binary>(&inner.node)) return of_binary(*binary, inner);
    return refuse(inner);
  }

 private:
  static Predicate glob(const std::string& pattern) {
    Predicate predicate;
    predicate.kind = Predicate::Kind::name_glob;
    predicate.glob = pattern;
    return predicate;
  }
  static Predicate joined(Predicate::Kind kind, std::vector<Predicate> operands) {
    Predicate predicate;
    predicate.kind = kind;
    predicate.operands = std::move(operands);
    return predicate;
  }

  std::optional<Predicate> refuse(const ast::Expr& expr) {
    context_.engine.report(Code::L050, expr.span, {"which parameters belong to the group", describe(expr)})
        .help(
            "such as `ndim >= 2`, `\"*.bias\"`, `[\"*.bias\", \"*norm*\"]`, `not \"head.*\"`, "
            "`frozen(\"blocks.0.*\")` or `others`");
    return std::nullopt;
  }

  std::optional<Predicate> any_of(const std::vector<ast::ExprPtr>& elements, const ast::Expr& whole) {
    std::vector<Predicate> operands;
    for (const ast::ExprPtr& element : elements) {
      auto operand = read(*element);
      if (!operand) return std::nullopt;
      operands.push_back(std::move(*operand));
    }
    if (operands.empty()) return refuse(whole);
    return joined(Predicate::Kind::logical_or, std::move(operands));
  }

  std::optional<Predicate> of_binary(const ast::Binary& binary, const ast::Expr& whole) {
    if (binary.op == ast::BinaryOp::logical_and || binary.op == ast::BinaryOp::logical_or) {
      auto left = read(*binary.left);
      auto right = read(*binary.right);
      if (!left || !right) return std::nullopt;
      return joined(binary.op == ast::BinaryOp::logical_and ? Predicate::Kind::logical_and
                                                            : Predicate::Kind::logical_or,
                    {std::move(*left), std::move(*right)});
    }
    if (as_name(*binary.left) != "ndim") return refuse(whole);
    auto dimensions = read_whole(context_, *binary.right, "ndim", 0);
    if (!dimensions) return std::nullopt;
    Predicate predicate;
    predicate.kind = Predicate::Kind::ndim;
    predicate.comparison = ast::spelling(binary.op);
    predicate.ndim = *dimensions;
    static const std::vector<std::string> kComparisons = {"<", "<=", ">", ">=", "==", "!="};
    if (std::find(kComparisons.begin(), kComparisons.end(), predicate.comparison) == kComparisons.end())
      return refuse(whole);
    return predicate;
  }

  Context& context_;
};

/// A few names of many, for a note.
std::string some(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kShown; ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

bool mentions_others(const Predicate& predicate) {
  if (predicate.kind == Predicate::Kind::others) return true;
  return std::any_of(predicate.operands.begin(), predicate.operands.end(), mentions_others);
}

void check_partition(Context& context, const std::vector<Group>& groups,
                     const std::vector<ParameterInfo>& parameters, Span place) {
  std::vector<std::vector<std::string>> members(groups.size());
  std::vector<std::string> homeless;
  struct Overlap {
    std::vector<std::string> names;
  };
  std::map<std::pair<size_t, size_t>, Overlap> overlaps;
  for (const ParameterInfo& parameter : parameters) {
    std::vector<size_t> in;
    size_t others = groups.size();
    for (size_t g = 0; g < groups.size(); ++g) {
      if (groups[g].group.predicate.kind == Predicate::Kind::others)
        others = g;
      else if (matches(groups[g].group.predicate, parameter))
        in.push_back(g);
    }
    if (in.empty() && others < groups.size()) in.push_back(others);
    if (in.empty()) homeless.push_back(parameter.name);
    for (size_t g : in) members[g].push_back(parameter.name);
    if (in.size() > 1) overlaps[{in[0], in[1]}].names.push_back(parameter.name);
  }
  if (!homeless.empty()) {
    context.engine.report(Code::L070, place, {std::to_string(homeless.size()), homeless.front()})
        .note("in no group: " + some(homeless))
        .help(
            "a group `rest = others` takes every parameter that no other group has; `frozen(…)` keeps "
            "parameters from being trained");
  }
  for (const auto& [pair, overlap] : overlaps) {
    context.engine
        .report(Code::L071, groups[pair.second].span,
                {overlap.names.front(), groups[pair.first].group.name, groups[pair.second].group.name})
        .also(groups[pair.first].span, "the other group")
        .note("in both: " + some(overlap.names));
  }
  for (size_t g = 0; g < groups.size(); ++g) {
    if (!members[g].empty()) continue;
    auto& finding = context.engine.report(Code::L072, groups[g].span, {groups[g].group.name});
    if (groups[g].group.predicate.kind == Predicate::Kind::name_glob) {
      std::vector<std::string> names;
      for (const ParameterInfo& parameter : parameters) names.push_back(parameter.name);
      if (auto near = base::nearest(groups[g].group.predicate.glob, names))
        finding.help("did you mean `" + *near + "`?");
      finding.note("the model's parameters are " + some(names));
    }
  }
}

}  // namespace

bool matches(const Predicate& predicate, const ParameterInfo& parameter) {
  auto ndim = static_cast<int64_t>(parameter.shape.size());
  switch (predicate.kind) {
    case Predicate::Kind::all:
      return true;
    case Predicate::Kind::others:
      return false;
    case Predicate::Kind::name_glob:
      return plan::glob_match(predicate.glob, parameter.name);
    case Predicate::Kind::ndim:
      if (predicate.comparison == "<") return ndim < predicate.ndim;
      if (predicate.comparison == "<=") return ndim <= predicate.ndim;
      if (predicate.comparison == ">") return ndim > predicate.ndim;
      if (predicate.comparison == ">=") return ndim >= predicate.ndim;
      if (predicate.comparison == "==") return ndim == predicate.ndim;
      return ndim != predicate.ndim;
    case Predicate::Kind::logical_and:
      return std::all_of(predicate.operands.begin(), predicate.operands.end(),
                         [&](const Predicate& one) { return matches(one, parameter); });
    case Predicate::Kind::logical_or:
      return std::any_of(predicate.operands.begin(), predicate.operands.end(),
                         [&](const Predicate& one) { return matches(one, parameter); });
    case Predicate::Kind::logical_not:
      return !matches(predicate.operands.front(), parameter);
  }
  return false;
}

std::optional<std::vector<Group>> read_groups(Context& context, const ast::Head* params,
                                              const ModelFacts& model, Span fallback) {
  std::vector<Group> groups;
  if (!params) {
    Group all;
    all.group.name = "all";
    all.group.predicate.kind = Predicate::Kind::all;
    all.span = fallback;
    groups.push_back(std::move(all));
    return groups;
  }
  BlockReader reader(context, params_table(), params->block->items, params->keyword.span);
  PredicateReader predicates(context);
  bool good = true;
  const Group* others = nullptr;
  groups.reserve(reader.free_names().size());
  for (const ast::Head* item : reader.free_names()) {
    if (!item->value || item->assign != ast::Assign::equals) {
      context.engine.report(
          Code::L044, item->keyword.span,
          {item->keyword.text, "`" + item->keyword.text + " = …`", std::string(params_table().free_takes)});
      good = false;
      continue;
    }
    Group group;
    group.group.name = item->keyword.text;
    group.span = item->keyword.span;
    const ast::Expr* expr = &ast::strip(*item->value);
    if (const ast::Call* call = as_call(*expr);
        call && call->callee.dotted() == "frozen" && call->args.size() == 1) {
      group.group.frozen = true;
      expr = call->args.front().value.get();
    } else if (call) {
      suggest(context.engine.report(Code::L063, call->callee.span, {call->callee.dotted()}),
              call->callee.span, call->callee.dotted(), {"frozen"});
      good = false;
      continue;
    }
    auto predicate = predicates.read(*expr);
    if (!predicate) {
      good = false;
      continue;
    }
    if (mentions_others(*predicate)) {
      if (predicate->kind != Predicate::Kind::others) {
        context.engine.report(Code::L073, item->value->span,
                              {"`others` stands alone: it means every parameter that no other group has"});
        good = false;
        continue;
      }
      if (others) {
        context.engine
            .report(Code::L073, item->value->span, {"two groups cannot both take what is left over"})
            .also(others->span, "this one does already");
        good = false;
        continue;
      }
    }
    group.group.predicate = std::move(*predicate);
    groups.push_back(std::move(group));
    if (groups.back().group.predicate.kind == Predicate::Kind::others) others = &groups.back();
  }
  if (!good) return std::nullopt;
  if (groups.empty()) {
    context.engine.report(Code::L073, params->keyword.span, {"`params` names no group"})
        .help("remove the block for one group of all parameters");
    return std::nullopt;
  }
  if (model.known) check_partition(context, groups, model.parameters, params->keyword.span);
  return groups;
}

}  // namespace loop::sema
