// Which micro-batches synchronise, and where the gradient is reduced.
// before: forward; loss; sync_on(last) { backward }      after: sync_on(last) { forward; loss; backward }
#include <algorithm>

#include "compiler/fixes/makers.h"
#include "compiler/fixes/sequence.h"

namespace loop::fixes {
namespace {

constexpr const char* kScope = "sync_on(last)";

std::vector<const ast::Item*> scopes(const Subject& subject) {
  std::vector<const ast::Item*> found;
  for (const Place& place : subject.operations("micro")) {
    if (word(*place.item) == "sync_on" && body(*place.item)) found.push_back(place.item);
  }
  return found;
}

/// Everything from the first statement of `micro` that holds a `forward` to the last that holds a `backward`.
std::optional<std::pair<const ast::Item*, const ast::Item*>> pass(const Subject& subject) {
  const ast::Head* micro = subject.part("micro");
  if (!micro) return std::nullopt;
  const ast::Item* first = nullptr;
  const ast::Item* last = nullptr;
  for (const Place& place : subject.operations("micro")) {
    const ast::Item* outermost = place.around.size() > 2 ? place.around[2] : place.item;
    if (word(*place.item) == "forward" && !first) first = outermost;
    if (word(*place.item) == "backward") last = outermost;
  }
  if (!first || !last || last->span.begin < first->span.begin) return std::nullopt;
  return std::pair{first, last};
}

}  // namespace

Fixes reduce_once(const Subject& subject) {
  Fixes fixes;
  const ast::Item* in_micro = first_operation(subject, "micro", "reduce");
  const ast::Item* in_update = first_operation(subject, "update", "reduce");
  if (in_micro && in_update) {
    Rewrite rewrite = subject.rewrite();
    take_out(subject, *in_micro, rewrite);
    fixes.push_back(certain("delete the early `reduce`", rewrite));
  }
  for (const ast::Item* reduce : {in_micro, in_update}) {
    if (!reduce) continue;
    fixes.push_back(certain("move `reduce` to the start of `update`",
                            put_into_update(subject, *reduce, Side::before_the_next)));
  }
  if (fixes.empty()) {
    for (const char* statement : {"reduce(sum)", "reduce(mean)"})
      fixes.push_back(certain("add `" + std::string(statement) + "` at the start of `update`",
                              add_to_update(subject, statement, Side::before_the_next)));
  }
  return fixes;
}

Fixes synchronise_last(const Subject& subject) {
  Fixes fixes;
  // What is written out is somebody's choice where it only costs.
  const bool is_note = subject.finding.severity == diagnostics::Severity::note;
  const std::vector<const ast::Item*> all = scopes(subject);
  for (const ast::Item* scope : all) {
    const ast::Head* statement = head(*scope);
    if (!statement->args || statement->args->size() != 1 ||
        statement->args_span.end <= statement->args_span.begin)
      continue;
    Rewrite rewrite = subject.rewrite();
    rewrite.replace((*statement->args)[0].span, "last");
    fixes.push_back(is_note ? likely("write `sync_on(last)`", rewrite)
                            : certain("write `sync_on(last)`", rewrite));
  }
  if (const auto span = pass(subject); span && all.empty()) {
    Rewrite rewrite = subject.rewrite();
    rewrite.wrap(*span->first, *span->second, kScope);
    fixes.push_back(certain("put `sync_on(last) { … }` around `forward` and `backward`", rewrite));
  }
  if (word(*subject.here().item) == "sync") {
    Rewrite rewrite = subject.rewrite();
    rewrite.replace(head(*subject.here().item)->value->span, "last");
    fixes.push_back(likely("write `sync = last`", rewrite));
  }
  if (first_operation(subject, "micro", "reduce") || first_operation(subject, "update", "reduce") ||
      all.empty()) {
    for (diagnostics::FixIt& fix : reduce_once(subject)) fixes.push_back(std::move(fix));
  }
  return fixes;
}

Fixes widen_scope(const Subject& subject) {
  const auto span = pass(subject);
  const std::vector<const ast::Item*> all = scopes(subject);
  if (!span || all.size() != 1) return {};
  const ast::Item& scope = *all.front();
  const auto [first, last] = *span;
  if (first == &scope || last->span.begin < scope.span.begin) return {};
  const ast::Block& inside = *body(scope);
  std::string opening = subject.source({scope.span.file, scope.span.begin, inside.span.begin});
  opening.erase(opening.find_last_not_of(" \t\n") + 1);
  Rewrite rewrite = subject.rewrite();
  const bool lines = subject.source(scope.span).find('\n') != std::string::npos;
  const auto& items = subject.part("micro")->block->items;
  // The head moves up to `first`; lines that come into the scope go one level deeper, those of a scope in
  // lines are there.
  rewrite.insert_before(*first, opening + " {");
  if (last != &scope || !lines) rewrite.unwrap(scope, inside);
  for (const ast::ItemPtr& item : items) {
    const bool comes_in = item->span.begin >= first->span.begin && item->span.end <= last->span.end;
    if (comes_in && rewrite.on_own_lines(*item) && (item.get() != &scope || !lines))
      rewrite.deepen(*item, *item);
  }
  if (last == &scope && lines) {
    // Its closing brace stays where it is; the line of its head goes, unless a comment stands on it.
    base::Span line{scope.span.file, scope.span.begin, inside.span.begin + 1};
    const std::string behind = subject.source({line.file, line.end, inside.span.end});
    const size_t newline = behind.find('\n');
    if (behind.find_first_not_of(" \t\r") >= newline) {
      line.end += static_cast<uint32_t>(newline + 1);
      while (line.begin > 0 && subject.source({line.file, line.begin - 1, line.begin}) == " ") --line.begin;
    }
    rewrite.replace(line, "");
  } else {
    rewrite.insert_after(*last, "}");
  }
  diagnostics::FixIt fix = certain("put `forward` into the scope as well", rewrite);
  for (diagnostics::Edit& edit : fix.edits) {
    // A brace needs no `;` beside it.
    if (edit.text == opening + " {; ") edit.text = opening + " { ";
    if (edit.text == "; }") edit.text = " }";
  }
  return {fix};
}

Fixes unguard(const Subject& subject) {
  Fixes fixes;
  std::vector<const ast::Item*> guards = subject.here().around;
  guards.push_back(subject.here().item);
  for (const ast::Item* guard : guards) {
    if (word(*guard) != "when") continue;
    Rewrite rewrite = subject.rewrite();
    rewrite.unwrap(*guard, *body(*guard));
    fixes.push_back(certain("delete the guard, not what it guards", rewrite));
  }
  return fixes;
}

Fixes one_scope(const Subject& subject) {
  Fixes fixes;
  const std::vector<const ast::Item*> all = scopes(subject);
  if (all.size() != 2) return fixes;
  const auto arguments = [&](const ast::Item& scope) { return subject.source(head(scope)->args_span); };
  const bool alike = arguments(*all[0]) == arguments(*all[1]);
  for (const ast::Item* scope : {all[1], all[0]}) {
    Rewrite rewrite = subject.rewrite();
    rewrite.unwrap(*scope, *body(*scope));
    const std::string title = std::string("delete the ") + (scope == all[1] ? "inner" : "outer") + " scope";
    fixes.push_back(alike ? certain(title, rewrite) : likely(title, rewrite));
  }
  return fixes;
}

Fixes delete_scope(const Subject& subject) {
  const ast::Item& scope = *subject.here().item;
  if (!body(scope)) return {};
  Rewrite rewrite = subject.rewrite();
  rewrite.unwrap(scope, *body(scope));
  return {certain("delete the scope, not what it encloses", rewrite)};
}

Fixes reduce_or_manual(const Subject& subject) {
  Fixes fixes;
  Rewrite deletion = subject.rewrite();
  deletion.remove(*subject.here().item);
  fixes.push_back(likely("delete `reduce`", deletion));
  if (const ast::Head* window = subject.part("window")) {
    Rewrite manual = subject.rewrite();
    manual.append(*window->block, "sync = manual");
    fixes.push_back(likely("write `sync = manual`", manual));
  }
  return fixes;
}

Fixes delete_sync_key(const Subject& subject) {
  const ast::Item& item = *subject.here().item;
  if (word(item) != "sync") return {};
  Rewrite rewrite = subject.rewrite();
  rewrite.remove(item);
  return {certain("delete `" + subject.source(item.span) + "`", rewrite)};
}

}  // namespace loop::fixes
