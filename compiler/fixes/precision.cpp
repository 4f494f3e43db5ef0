// Mixed precision: what stands in `autocast`, and the loss scaler.
// before: autocast { forward; loss; backward }      after: autocast { forward; loss }; backward
#include "compiler/fixes/makers.h"
#include "compiler/fixes/sequence.h"

namespace loop::fixes {

Fixes scale_fp16(const Subject& subject) {
  const ast::Item* backward = first_operation(subject, "micro", "backward");
  if (!backward || !subject.part("update")) return {};
  Rewrite rewrite = subject.rewrite();
  if (!first_operation(subject, "micro", "scale_loss"))
    rewrite.insert_before(*backward, "scale_loss(loss_scale)");
  if (!first_operation(subject, "update", "unscale"))
    add_to_update(subject, "unscale", Side::before_the_next, rewrite);
  if (!first_operation(subject, "update", "update_scale"))
    add_to_update(subject, "update_scale", Side::after_the_last, rewrite);
  return {likely("scale the loss: `scale_loss(loss_scale)`, `unscale`, `update_scale`", rewrite)};
}

Fixes into_autocast(const Subject& subject) {
  Fixes fixes;
  const ast::Item* forward = nullptr;
  const ast::Block* block = nullptr;
  const ast::Item* loss = nullptr;
  const ast::Item* scope = nullptr;
  for (const Place& place : subject.operations("micro")) {
    if (word(*place.item) == "autocast") scope = place.item;
    if (word(*place.item) == "forward") forward = place.item, block = place.block;
    if (word(*place.item) == "loss" && place.block == block) loss = place.item;
  }
  if (!scope && forward && loss && forward->span.begin < loss->span.begin) {
    Rewrite rewrite = subject.rewrite();
    rewrite.wrap(*forward, *loss, "autocast");
    fixes.push_back(certain("put `forward` and `loss` into `autocast`", rewrite));
  }
  if (scope) {
    const ast::Item& item = *subject.here().item;
    Rewrite rewrite = subject.rewrite();
    if (word(item) == "forward") {
      rewrite.remove(item);
      rewrite.prepend(*body(*scope), subject.source(item.span));
    } else {
      rewrite.remove(item);
      rewrite.append(*body(*scope), subject.source(item.span));
    }
    fixes.push_back(certain("move `" + word(item) + "` into `autocast`", rewrite));
  }
  return fixes;
}

Fixes out_of_autocast(const Subject& subject) {
  const std::vector<const ast::Item*>& around = subject.here().around;
  if (around.empty() || word(*around.back()) != "autocast") return {};
  const ast::Item& item = *subject.here().item;
  Rewrite rewrite = subject.rewrite();
  // Behind the scope's end; what follows `backward` inside stays inside.
  rewrite.remove(item);
  rewrite.insert_after(*around.back(), subject.source(item.span));
  return {certain("move `backward` behind the scope", rewrite)};
}

Fixes autocast_or_amp(const Subject& subject) {
  Fixes fixes;
  const ast::Item& scope = *subject.here().item;
  if (!body(scope)) return fixes;
  Rewrite deletion = subject.rewrite();
  deletion.unwrap(scope, *body(scope));
  fixes.push_back(likely("delete `autocast`, not what it encloses", deletion));
  if (const ast::Item* micro = subject.part_item("micro")) {
    Rewrite key = subject.rewrite();
    key.insert_before(*micro, "amp = bf16");
    fixes.push_back(likely("write `amp = bf16`", key));
  }
  return fixes;
}

Fixes delete_scaler(const Subject& subject) {
  Rewrite rewrite = subject.rewrite();
  for (const char* block : {"micro", "update"}) {
    for (const Place& place : subject.operations(block)) {
      const std::string name = word(*place.item);
      const bool scales =
          name == "scale_loss" && subject.source(head(*place.item)->args_span) == "(loss_scale)";
      if (scales || name == "unscale" || name == "update_scale") rewrite.remove(*place.item);
    }
  }
  return {certain("delete what belongs to the loss scale", rewrite)};
}

Fixes add_update_scale(const Subject& subject) {
  return {certain("add `update_scale`", add_to_update(subject, "update_scale", Side::after_the_last))};
}

}  // namespace loop::fixes
