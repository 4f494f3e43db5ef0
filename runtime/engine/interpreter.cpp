#include "runtime/engine/interpreter.h"

#include <algorithm>

#include "loop/error.h"
#include "runtime/amp/autocast.h"
#include "runtime/engine/variables.h"

namespace loop::engine {

using plan::OpKind;

namespace {

MicroState& inside(MicroState* micro, const plan::Operation& operation) {
  if (!micro)
    throw Error(ErrorKind::internal,
                std::string("`") + plan::name(operation.kind) + "` outside a micro-batch");
  return *micro;
}

/// Operations that read or change the accumulated gradient or the window's counts, which the ranks then have
/// to know of each other.
bool acts_on_gradient(OpKind kind) {
  switch (kind) {
    case OpKind::forward:
    case OpKind::loss:
    case OpKind::scale_loss:
    case OpKind::backward:
    case OpKind::autocast:
    case OpKind::sync_on:
    case OpKind::when:
      return false;
    default:
      return true;
  }
}

}  // namespace

void Interpreter::run(const std::vector<plan::Operation>& operations, WindowState& window,
                      MicroState* micro) {
  for (const plan::Operation& operation : operations) run(operation, window, micro);
}

void Interpreter::run(const plan::Operation& operation, WindowState& window, MicroState* micro) {
  const auto names = [&] { return this->names(window, micro); };
  if (acts_on_gradient(operation.kind)) {
    ranks_.finish();
    ranks_.agree(window);
  }
  switch (operation.kind) {
    case OpKind::forward:
      return micro_.forward(inside(micro, operation));
    case OpKind::loss:
      return micro_.loss(operation.loss_mode, inside(micro, operation), window);
    case OpKind::scale_loss:
      return micro_.scale_loss(operation.factor, inside(micro, operation), window);
    case OpKind::backward:
      return micro_.backward(inside(micro, operation), window);
    case OpKind::autocast: {
      const amp::Autocast scope(window.amp);
      return run(operation.body, window, micro);
    }
    case OpKind::sync_on: {
      MicroState& inner = inside(micro, operation);
      inner.sync_scope = operation.sync_on;
      run(operation.body, window, micro);
      inner.sync_scope.reset();
      return;
    }
    case OpKind::reduce:
      return ranks_.reduce(operation, window);
    case OpKind::unscale:
      return update_.unscale(operation, window);
    case OpKind::normalize:
      return update_.normalize(operation, window);
    case OpKind::scale_grad:
      return update_.scale_grad(operation, window, micro);
    case OpKind::clip_norm:
      return update_.clip_norm(operation, window, names());
    case OpKind::clip_value:
      return update_.clip_value(operation, window, names());
    case OpKind::step:
      update_.step(operation, window, names());
      if (window.amp != plan::AmpMode::off) amp::drop_casts();
      return;
    case OpKind::update_scale:
      return update_.update_scale(window);
    case OpKind::zero_grad:
      return update_.zero_grad();
    case OpKind::tick:
      return update_.tick(operation.target, window);
    case OpKind::average:
      return update_.average(operation.target, window, names());
    case OpKind::when:
      if (holds(operation.condition, window, micro)) run(operation.body, window, micro);
      return;
  }
}

bool Interpreter::holds(const plan::Expression& condition, const WindowState& window,
                        const MicroState* micro) const {
  return value_of(condition, names(window, micro), "`when`") != 0;
}

plan::Lookup Interpreter::names(const WindowState& window, const MicroState* micro) const {
  return variables(clocks_, objective_, window, micro, ranks_.ranks().size());
}

int64_t Interpreter::losses(const std::vector<plan::Operation>& operations, const WindowState& window,
                            const MicroState& micro) const {
  int64_t count = 0;
  for (const plan::Operation& operation : operations) {
    if (operation.kind == OpKind::loss) ++count;
    if (operation.kind == OpKind::when && !holds(operation.condition, window, &micro)) continue;
    count += losses(operation.body, window, micro);
  }
  return count;
}

bool repeatable(const std::vector<plan::Operation>& micro) {
  return std::none_of(micro.begin(), micro.end(), [](const plan::Operation& operation) {
    return acts_on_gradient(operation.kind) || !repeatable(operation.body);
  });
}

}  // namespace loop::engine
