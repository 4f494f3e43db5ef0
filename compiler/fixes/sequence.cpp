#include "compiler/fixes/sequence.h"

#include <algorithm>

namespace loop::fixes {
namespace {

/// reduce → unscale → normalize → clip → step → update_scale → averages and clocks → zero_grad.
int rank_of(std::string_view word) {
  constexpr std::string_view kOrder[] = {"reduce", "unscale",      "normalize", "clip",
                                         "step",   "update_scale", "average",   "zero_grad"};
  if (word == "scale_grad") word = "normalize";
  if (word == "tick") word = "average";
  const auto* at = std::find(std::begin(kOrder), std::end(kOrder), word);
  return static_cast<int>(at - std::begin(kOrder));
}

/// A guard stands where the first of its operations would.
int rank_of(const ast::Item& item) {
  if (word(item) != "when") return rank_of(word(item));
  int lowest = rank_of("");
  for (const ast::ItemPtr& inner : body(item)->items) lowest = std::min(lowest, rank_of(*inner));
  return lowest;
}

/// The statement of a block next to which one of this rank belongs, and on which side. Null: the block is
/// empty, or holds nothing but `moved`.
const ast::Item* neighbour(const ast::Block& block, int rank, const ast::Item* moved, Side side,
                           bool& before) {
  const ast::Item* last = nullptr;
  const ast::Item* last_lower = nullptr;
  const ast::Item* next = nullptr;
  const ast::Item* first = nullptr;
  for (const ast::ItemPtr& item : block.items) {
    if (item.get() == moved) continue;
    if (!first) first = item.get();
    last = item.get();
    if (rank_of(*item) <= rank) last_lower = item.get();
    if (rank_of(*item) > rank && !next) next = item.get();
  }
  if (side == Side::before_the_next) {
    before = next != nullptr;
    return next ? next : last;
  }
  before = last_lower == nullptr;
  return last_lower ? last_lower : first;
}

/// The outermost guard or scope that holds this operation and nothing else; without one the operation.
const ast::Item& alone_in(const Subject& subject, const ast::Item& item) {
  const std::vector<const ast::Item*> around = subject.at(item.span).around;
  const ast::Item* outermost = &item;
  for (auto scope = around.rbegin(); scope != around.rend(); ++scope) {
    const bool encloses =
        word(**scope) == "when" || word(**scope) == "sync_on" || word(**scope) == "autocast";
    if (!encloses || body(**scope)->items.size() != 1) break;
    outermost = *scope;
  }
  return *outermost;
}

std::string first_word(const std::string& statement) {
  const size_t end = statement.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  return statement.substr(0, end);
}

}  // namespace

void add_to_update(const Subject& subject, const std::string& statement, Side side, Rewrite& rewrite) {
  const ast::Head* update = subject.part("update");
  if (!update) {
    if (const ast::Item* micro = subject.part_item("micro"))
      rewrite.insert_after(*micro, "update { " + statement + " }");
    return;
  }
  bool before = false;
  const ast::Item* next = neighbour(*update->block, rank_of(first_word(statement)), nullptr, side, before);
  if (!next) return rewrite.append(*update->block, statement);
  before ? rewrite.insert_before(*next, statement) : rewrite.insert_after(*next, statement);
}

Rewrite add_to_update(const Subject& subject, const std::string& statement, Side side) {
  Rewrite rewrite = subject.rewrite();
  add_to_update(subject, statement, side, rewrite);
  return rewrite;
}

Rewrite put_into_update(const Subject& subject, const ast::Item& item, Side side) {
  Rewrite rewrite = subject.rewrite();
  const ast::Head* update = subject.part("update");
  bool before = false;
  const ast::Item& whole = alone_in(subject, item);
  const ast::Item* next = update ? neighbour(*update->block, rank_of(item), &whole, side, before) : nullptr;
  if (next && &whole == &item) {
    before ? rewrite.move_before(item, *next) : rewrite.move_after(item, *next);
  } else if (next) {
    rewrite.remove(whole);
    const std::string statement = rewrite.source(item.span);
    before ? rewrite.insert_before(*next, statement) : rewrite.insert_after(*next, statement);
  } else {
    rewrite.remove(whole);
    add_to_update(subject, rewrite.source(item.span), side, rewrite);
  }
  return rewrite;
}

void take_out(const Subject& subject, const ast::Item& item, Rewrite& rewrite) {
  rewrite.remove(alone_in(subject, item));
}

bool same_text(const Subject& subject, const ast::Item& a, const ast::Item& b) {
  const auto squeezed = [&](const ast::Item& item) {
    std::string text = subject.source(item.span);
    text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\n'; }),
               text.end());
    return text;
  };
  return squeezed(a) == squeezed(b);
}

const ast::Item* first_operation(const Subject& subject, std::string_view block, std::string_view wanted) {
  for (const Place& place : subject.operations(block)) {
    if (word(*place.item) == wanted) return place.item;
  }
  return nullptr;
}

}  // namespace loop::fixes
