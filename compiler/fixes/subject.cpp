#include "compiler/fixes/subject.h"

namespace loop::fixes {
namespace {

bool covers(base::Span outer, base::Span inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

void descend(const std::vector<ast::ItemPtr>& items, const ast::Block* block, base::Span span, Place& place) {
  for (const ast::ItemPtr& item : items) {
    if (!covers(item->span, span)) continue;
    if (place.item) place.around.push_back(place.item);
    place.item = item.get();
    place.block = block;
    if (const ast::Block* inner = body(*item)) descend(inner->items, inner, span, place);
    return;
  }
}

void collect(const ast::Block& block, std::vector<const ast::Item*>& around, std::vector<Place>& found) {
  for (const ast::ItemPtr& item : block.items) {
    found.push_back({item.get(), &block, around});
    if (const ast::Block* inner = body(*item)) {
      around.push_back(item.get());
      collect(*inner, around, found);
      around.pop_back();
    }
  }
}

}  // namespace

Subject::Subject(std::string_view text, const ast::File& file, const diagnostics::Diagnostic& finding)
    : finding(finding), text_(text), file_(file), here_(at(finding.span)) {}

Place Subject::at(base::Span span) const {
  Place place;
  descend(file_.items, nullptr, span, place);
  return place;
}

const ast::Item* Subject::part_item(std::string_view keyword) const {
  const ast::Item* loop = here_.around.empty() ? here_.item : here_.around.front();
  const ast::Block* block = loop ? body(*loop) : nullptr;
  if (!block) return nullptr;
  for (const ast::ItemPtr& item : block->items) {
    if (word(*item) == keyword && body(*item)) return item.get();
  }
  return nullptr;
}

const ast::Head* Subject::part(std::string_view keyword) const {
  const ast::Item* item = part_item(keyword);
  return item ? head(*item) : nullptr;
}

std::vector<Place> Subject::operations(std::string_view block) const {
  std::vector<Place> found;
  if (const ast::Item* item = part_item(block)) {
    const ast::Item* loop = here_.around.empty() ? here_.item : here_.around.front();
    std::vector<const ast::Item*> around = {loop, item};
    collect(*body(*item), around, found);
  }
  return found;
}

std::string word(const ast::Item& item) {
  if (const ast::Head* statement = head(item)) return statement->keyword.text;
  return std::holds_alternative<ast::When>(item.node) ? "when" : "use";
}

const ast::Head* head(const ast::Item& item) {
  return std::get_if<ast::Head>(&item.node);
}

const ast::Block* body(const ast::Item& item) {
  if (const auto* when = std::get_if<ast::When>(&item.node)) return &when->body;
  const ast::Head* statement = head(item);
  return statement && statement->block ? &*statement->block : nullptr;
}

diagnostics::FixIt certain(std::string title, const Rewrite& rewrite) {
  return {std::move(title), diagnostics::Certainty::certain, rewrite.edits()};
}

diagnostics::FixIt likely(std::string title, const Rewrite& rewrite) {
  return {std::move(title), diagnostics::Certainty::likely, rewrite.edits()};
}

}  // namespace loop::fixes
