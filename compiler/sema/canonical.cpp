// before: nothing written, or `update { step adamw(…) }`
// after:  micro  { sync_on(last) { autocast { forward; loss }; scale_loss(loss_scale); backward } }
//         update { unscale; normalize; step adamw(…); update_scale; zero_grad }
// (autocast with amp only; scale_loss, unscale and update_scale with fp16 only; with several count classes
// `loss(normalized)` and no normalize.)
#include "compiler/sema/program.h"

namespace loop::sema {
namespace {

Operation make(plan::OpKind kind, Span span) {
  Operation operation;
  operation.op.kind = kind;
  operation.span = span;
  operation.name_span = span;
  operation.argument_span = span;
  return operation;
}

plan::SyncOn sync_mode(plan::Sync sync) {
  return sync == plan::Sync::every ? plan::SyncOn::every : plan::SyncOn::last;
}

}  // namespace

Program canonical_micro(const ProgramSurroundings& around, Span span) {
  using plan::OpKind;
  bool several = around.count_classes->size() > 1;
  Operation loss = make(OpKind::loss, span);
  loss.op.loss_mode = several ? plan::LossMode::normalized : plan::LossMode::sum;
  std::vector<Operation> body;
  if (around.amp == plan::AmpMode::off) {
    body.push_back(make(OpKind::forward, span));
    body.push_back(std::move(loss));
  } else {
    Operation autocast = make(OpKind::autocast, span);
    autocast.body.push_back(make(OpKind::forward, span));
    autocast.body.push_back(std::move(loss));
    body.push_back(std::move(autocast));
  }
  if (around.amp == plan::AmpMode::fp16) {
    Operation scale = make(OpKind::scale_loss, span);
    scale.op.factor.powers.push_back({plan::Power::Symbol::loss_scale, -1, "", 1});
    body.push_back(std::move(scale));
  }
  body.push_back(make(OpKind::backward, span));

  Program program;
  program.span = span;
  if (around.sync == plan::Sync::manual) {
    program.operations = std::move(body);
    return program;
  }
  Operation scope = make(OpKind::sync_on, span);
  scope.op.sync_on = sync_mode(around.sync);
  scope.body = std::move(body);
  program.operations.push_back(std::move(scope));
  return program;
}

Program completed_update(const ProgramSurroundings& around, std::vector<Operation> steps, Span written_at,
                         Span span) {
  using plan::OpKind;
  bool several = around.count_classes->size() > 1;
  bool fp16 = around.amp == plan::AmpMode::fp16;
  Program program;
  program.completed = true;
  program.span = written_at;
  auto add = [&](OpKind kind) -> Operation& {
    program.operations.push_back(make(kind, span));
    return program.operations.back();
  };
  if (around.sync == plan::Sync::manual) add(OpKind::reduce).op.reduce_mode = around.reduce;
  if (fp16) add(OpKind::unscale);
  if (!several) add(OpKind::normalize);
  if (several && around.reduce == plan::ReduceMode::mean)
    add(OpKind::scale_grad).op.factor.powers.push_back({plan::Power::Symbol::ranks, -1, "", 1});
  for (Operation& step : steps) program.operations.push_back(std::move(step));
  if (fp16) add(OpKind::update_scale);
  add(OpKind::zero_grad);
  return program;
}

}  // namespace loop::sema
