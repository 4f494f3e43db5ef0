// One division by the window's count in the place of whatever divides now.
// before: loss(mean); scale_loss(loss_scale / micro_batches); …; step
// after:  loss; scale_loss(loss_scale); …; normalize; step
#include <algorithm>
#include <optional>

#include "compiler/fixes/makers.h"
#include "compiler/fixes/sequence.h"

namespace loop::fixes {
namespace {

using diagnostics::Code;

/// A product written as its factors, each with whether it divides.
struct Factor {
  const ast::Expr* expr;
  bool divides;
};

void split(const ast::Expr& expr, bool divides, std::vector<Factor>& factors) {
  const ast::Expr& bare = ast::strip(expr);
  const auto* binary = std::get_if<ast::Binary>(&bare.node);
  if (binary && (binary->op == ast::BinaryOp::multiply || binary->op == ast::BinaryOp::divide)) {
    split(*binary->left, divides, factors);
    split(*binary->right, divides != (binary->op == ast::BinaryOp::divide), factors);
  } else {
    factors.push_back({&bare, divides});
  }
}

bool is_number(const ast::Expr& expr) {
  return std::holds_alternative<ast::Number>(expr.node);
}

/// Counts, K and R: all but the loss scale and numbers.
bool is_count(const ast::Expr& expr) {
  const ast::Expr* base = &expr;
  if (const auto* power = std::get_if<ast::Binary>(&expr.node); power && power->op == ast::BinaryOp::power)
    base = &ast::strip(*power->left);
  const auto* path = std::get_if<ast::Path>(&base->node);
  return path && path->dotted() != "loss_scale";
}

/// What is left of a factor without its counts; nothing when that is 1.
std::optional<std::string> without_counts(const Subject& subject, const ast::Expr& expr, bool drop_numbers) {
  std::vector<Factor> factors;
  split(expr, false, factors);
  std::string above;
  std::string below;
  for (const Factor& factor : factors) {
    const auto* number = std::get_if<ast::Number>(&factor.expr->node);
    if (is_count(*factor.expr) || (number && (drop_numbers || number->value == 1))) continue;
    const std::string source = subject.source(factor.expr->span);
    if (factor.divides) below += " / " + source;
    if (!factor.divides) above += (above.empty() ? "" : " * ") + source;
  }
  if (above.empty() && below.empty()) return std::nullopt;
  return (above.empty() ? "1" : above) + below;
}

const ast::Expr* factor_of(const ast::Item& item) {
  const ast::Head* statement = head(item);
  if (!statement || (word(item) != "scale_loss" && word(item) != "scale_grad")) return nullptr;
  return statement->args && statement->args->size() == 1 ? (*statement->args)[0].value.get() : nullptr;
}

bool holds_number(const ast::Expr& expr) {
  std::vector<Factor> factors;
  split(expr, false, factors);
  return std::any_of(factors.begin(), factors.end(), [](const Factor& factor) {
    return is_number(*factor.expr) && std::get<ast::Number>(factor.expr->node).value != 1;
  });
}

std::vector<Place> both_blocks(const Subject& subject) {
  std::vector<Place> all = subject.operations("micro");
  for (Place& place : subject.operations("update")) all.push_back(std::move(place));
  return all;
}

void reduce_factor(const Subject& subject, const ast::Item& item, bool drop_numbers, Rewrite& rewrite) {
  const ast::Expr& factor = *factor_of(item);
  const std::optional<std::string> left = without_counts(subject, factor, drop_numbers);
  if (!left) {
    rewrite.remove(item);
  } else if (*left != subject.source(factor.span)) {
    rewrite.replace(factor.span, *left);
  }
}

void write_loss(const ast::Item& item, const std::string& text, Rewrite& rewrite) {
  if (rewrite.source(item.span) != text) rewrite.replace(item.span, text);
}

/// The sum, divided once, in `update`.
Rewrite sum_and_normalize(const Subject& subject, bool drop_numbers) {
  Rewrite rewrite = subject.rewrite();
  bool normalized = first_operation(subject, "update", "normalize") != nullptr;
  for (const Place& place : both_blocks(subject)) {
    const ast::Item& item = *place.item;
    if (word(item) == "loss") write_loss(item, "loss", rewrite);
    if (!factor_of(item)) continue;
    const bool divides = word(item) == "scale_grad" && !normalized && place.around.size() == 2 &&
                         !without_counts(subject, *factor_of(item), drop_numbers);
    if (divides) {
      rewrite.replace(item.span, "normalize");
      normalized = true;
    } else {
      reduce_factor(subject, item, drop_numbers, rewrite);
    }
  }
  if (!normalized) add_to_update(subject, "normalize", Side::before_the_next, rewrite);
  return rewrite;
}

/// Every term divided by its own count, in `micro`.
Rewrite own_counts(const Subject& subject, bool drop_numbers, bool times_ranks) {
  Rewrite rewrite = subject.rewrite();
  bool scaled = !times_ranks;
  for (const Place& place : both_blocks(subject)) {
    const ast::Item& item = *place.item;
    if (word(item) == "loss") write_loss(item, "loss(normalized)", rewrite);
    if (word(item) == "normalize" && !scaled) {
      rewrite.replace(item.span, "scale_grad(ranks)");
      scaled = true;
    } else if (word(item) == "normalize") {
      rewrite.remove(item);
    }
    if (factor_of(item)) reduce_factor(subject, item, drop_numbers, rewrite);
  }
  if (!scaled) add_to_update(subject, "scale_grad(ranks)", Side::before_the_next, rewrite);
  return rewrite;
}

/// The factor at the finding's place, repaired alone.
void repair_here(const Subject& subject, Fixes& fixes) {
  const ast::Item& item = *subject.here().item;
  if (const std::string source = subject.source(item.span); source.find(".rank") != std::string::npos) {
    std::string global = source;
    for (size_t at = 0; (at = global.find(".rank", at)) != std::string::npos; at += 1)
      global.replace(at, 5, ".global");
    Rewrite rewrite = subject.rewrite();
    rewrite.replace(item.span, global);
    fixes.push_back(certain("use the count over all ranks", rewrite));
  }
  if (subject.finding.code != Code::L303 && subject.finding.code != Code::L309) return;
  if (factor_of(item)) {
    Rewrite rewrite = subject.rewrite();
    reduce_factor(subject, item, false, rewrite);
    fixes.push_back(certain("leave the count out here", rewrite));
  } else if (word(item) == "normalize") {
    Rewrite rewrite = subject.rewrite();
    rewrite.remove(item);
    fixes.push_back(certain("delete `normalize`", rewrite));
  }
}

}  // namespace

Fixes divide_by_count(const Subject& subject) {
  Fixes fixes;
  if (!subject.part("micro") && !subject.part("update")) return fixes;
  if (subject.finding.code == Code::L302) {
    for (const Side side : {Side::before_the_next, Side::after_the_last})
      fixes.push_back(certain("add `normalize`", add_to_update(subject, "normalize", side)));
  }
  repair_here(subject, fixes);
  const std::string sum = "divide the window's sum once: `loss` and `normalize`";
  const std::string own = "divide every term by its own count: `loss(normalized)`";
  fixes.push_back(certain(sum, sum_and_normalize(subject, false)));
  for (const bool times_ranks : {false, true})
    fixes.push_back(certain(own, own_counts(subject, false, times_ranks)));
  // A number may be a weight that is meant.
  const std::vector<Place> all = both_blocks(subject);
  const bool numbers = std::any_of(all.begin(), all.end(), [](const Place& place) {
    const ast::Expr* factor = factor_of(*place.item);
    return factor && holds_number(*factor);
  });
  if (numbers) fixes.push_back(likely(sum, sum_and_normalize(subject, true)));
  return fixes;
}

}  // namespace loop::fixes
