// Operations of the window's end: order, repetition, absence.
// before: clip(norm: 1.0); unscale; step …      after: unscale; clip(norm: 1.0); step …
#include <algorithm>

#include "compiler/fixes/makers.h"
#include "compiler/fixes/sequence.h"

namespace loop::fixes {
namespace {

constexpr Side kSides[] = {Side::before_the_next, Side::after_the_last};

std::string quoted(const ast::Item& item) {
  return "`" + word(item) + "`";
}

void add_moves(const Subject& subject, const ast::Item& item, Fixes& fixes) {
  for (const Side side : kSides)
    fixes.push_back(
        certain("move " + quoted(item) + " to its place in `update`", put_into_update(subject, item, side)));
}

/// The statement that the finding's label points to.
const ast::Item* labelled(const Subject& subject) {
  for (const diagnostics::Label& label : subject.finding.labels) {
    const Place place = subject.at(label.span);
    if (place && place.item != subject.here().item) return place.item;
  }
  return nullptr;
}

diagnostics::FixIt deletion(const Subject& subject, const ast::Item& item) {
  Rewrite rewrite = subject.rewrite();
  take_out(subject, item, rewrite);
  return certain("delete " + quoted(item), rewrite);
}

}  // namespace

Fixes move_to_update(const Subject& subject) {
  Fixes fixes;
  const ast::Item& item = *subject.here().item;
  for (const Place& other : subject.operations("update")) {
    if (other.item == &item || word(*other.item) != word(item)) continue;
    if (same_text(subject, item, *other.item)) fixes.push_back(deletion(subject, item));
  }
  add_moves(subject, item, fixes);
  return fixes;
}

Fixes reorder(const Subject& subject) {
  Fixes fixes;
  if (const ast::Item* other = labelled(subject)) add_moves(subject, *other, fixes);
  add_moves(subject, *subject.here().item, fixes);
  return fixes;
}

Fixes delete_here(const Subject& subject) {
  return {deletion(subject, *subject.here().item)};
}

Fixes delete_one_of_two(const Subject& subject) {
  Fixes fixes;
  for (const ast::Item* item : {subject.here().item, labelled(subject)}) {
    if (!item) continue;
    Rewrite rewrite = subject.rewrite();
    rewrite.remove(*item);
    fixes.push_back(likely("delete `" + subject.source(item->span) + "`", rewrite));
  }
  return fixes;
}

Fixes zero_at_end(const Subject& subject) {
  Fixes fixes;
  const ast::Head* update = subject.part("update");
  const ast::Item* zero = first_operation(subject, "update", "zero_grad");
  if (!zero) zero = first_operation(subject, "micro", "zero_grad");
  if (zero && update) {
    fixes.push_back(certain("move `zero_grad` to the end of `update`",
                            put_into_update(subject, *zero, Side::after_the_last)));
  }
  if (!zero)
    fixes.push_back(certain("add `zero_grad`", add_to_update(subject, "zero_grad", Side::after_the_last)));
  return fixes;
}

Fixes add_unscale(const Subject& subject) {
  Fixes fixes;
  for (const Side side : kSides)
    fixes.push_back(certain("add `unscale`", add_to_update(subject, "unscale", side)));
  return fixes;
}

Fixes scale_or_no_unscale(const Subject& subject) {
  Fixes fixes;
  if (const ast::Item* backward = first_operation(subject, "micro", "backward")) {
    Rewrite rewrite = subject.rewrite();
    rewrite.insert_before(*backward, "scale_loss(loss_scale)");
    fixes.push_back(likely("add `scale_loss(loss_scale)`", rewrite));
  }
  Rewrite rewrite = subject.rewrite();
  rewrite.remove(*subject.here().item);
  fixes.push_back(likely("delete `unscale`", rewrite));
  return fixes;
}

Fixes after_what_it_needs(const Subject& subject) {
  const ast::Item& item = *subject.here().item;
  const std::string needed = word(item) == "loss" ? "forward" : "loss";
  Rewrite rewrite = subject.rewrite();
  if (const ast::Item* other = first_operation(subject, "micro", needed)) {
    rewrite.move_after(item, *other);
    Fixes fixes = {certain("move " + quoted(item) + " after `" + needed + "`", rewrite)};
    Rewrite back = subject.rewrite();
    back.move_before(*other, item);
    fixes.push_back(certain("move `" + needed + "` before " + quoted(item), back));
    return fixes;
  }
  rewrite.insert_before(item, needed);
  return {certain("add `" + needed + "`", rewrite)};
}

Fixes scale_before_backward(const Subject& subject) {
  Fixes fixes;
  const ast::Item& item = *subject.here().item;
  if (const ast::Item* backward = first_operation(subject, "micro", "backward")) {
    Rewrite rewrite = subject.rewrite();
    rewrite.move_before(item, *backward);
    fixes.push_back(likely("move `scale_loss` before `backward`", rewrite));
  }
  Rewrite rewrite = subject.rewrite();
  rewrite.remove(item);
  fixes.push_back(likely("delete `scale_loss`", rewrite));
  return fixes;
}

Fixes backward_always(const Subject& subject) {
  Fixes fixes;
  const ast::Item* after = nullptr;
  for (const Place& place : subject.operations("micro")) {
    if (word(*place.item) == "loss" || word(*place.item) == "scale_loss") after = place.item;
    if (word(*place.item) != "backward") continue;
    for (const ast::Item* around : place.around) {
      if (word(*around) != "when") continue;
      Rewrite rewrite = subject.rewrite();
      rewrite.unwrap(*around, *body(*around));
      fixes.push_back(certain("take `backward` out of the guard", rewrite));
    }
    return fixes;
  }
  if (after) {
    Rewrite rewrite = subject.rewrite();
    // Not inside `autocast`: gradients have their precision already.
    for (const Place& place : subject.operations("micro")) {
      if (place.item == after && !place.around.empty() && word(*place.around.back()) == "autocast")
        after = place.around.back();
    }
    rewrite.insert_after(*after, "backward");
    fixes.push_back(certain("add `backward`", rewrite));
  }
  return fixes;
}

Fixes delete_repetition(const Subject& subject) {
  const ast::Item& item = *subject.here().item;
  for (const char* block : {"micro", "update"}) {
    for (const Place& other : subject.operations(block)) {
      if (other.item != &item && same_text(subject, item, *other.item)) return {deletion(subject, item)};
    }
  }
  return {};
}

Fixes after_last_step(const Subject& subject) {
  Fixes fixes;
  add_moves(subject, *subject.here().item, fixes);
  fixes.push_back(deletion(subject, *subject.here().item));
  return fixes;
}

}  // namespace loop::fixes
