// Mixed precision: what the order analysis cannot see, because it reckons with exact numbers.
#include "compiler/check/rules/rules.h"
#include "compiler/check/typestate/executor.h"

namespace loop::check {
namespace {

using diagnostics::Code;
using plan::AmpMode;
using plan::OpKind;

const char* name_of(AmpMode mode) {
  switch (mode) {
    case AmpMode::off:
      return "off";
    case AmpMode::bf16:
      return "bf16";
    case AmpMode::fp16:
      return "fp16";
  }
  return "";
}

bool reads_loss_scale(const plan::Operation& op) {
  for (const plan::Power& power : op.factor.powers) {
    if (power.symbol == plan::Power::Symbol::loss_scale) return true;
  }
  return false;
}

void check_autocast(const std::vector<sema::Operation>& operations, const sema::Operation* scope,
                    AmpMode mode, diagnostics::Engine& engine) {
  for (const sema::Operation& operation : operations) {
    const OpKind kind = operation.op.kind;
    if (kind == OpKind::autocast && mode == AmpMode::off) {
      engine.report(Code::L505, operation.name_span)
          .help("write `amp = bf16` or `amp = fp16(…)`, or delete `autocast`");
    }
    if ((kind == OpKind::forward || kind == OpKind::loss) && !scope && mode != AmpMode::off) {
      engine.report(Code::L503, operation.span, {name_of(mode), plan::name(kind)})
          .help("write `autocast { forward; loss }`");
    }
    if (kind == OpKind::backward && scope && mode != AmpMode::off) {
      engine.report(Code::L504, operation.span)
          .also(scope->name_span, "the scope it stands in")
          .help("write `backward` after the scope");
    }
    check_autocast(operation.body, kind == OpKind::autocast ? &operation : scope, mode, engine);
  }
}

/// The operations of a scaler that are written, by what they do.
struct Scaler {
  const sema::Operation* scale = nullptr;
  const sema::Operation* unscale = nullptr;
  const sema::Operation* update = nullptr;
  const sema::Operation* any() const { return scale ? scale : unscale ? unscale : update; }
};

Scaler scaler_of(const sema::Spec& spec) {
  Scaler scaler;
  for (const sema::Operation* operation : all_operations(spec)) {
    const OpKind kind = operation->op.kind;
    if (kind == OpKind::scale_loss && reads_loss_scale(operation->op) && !scaler.scale)
      scaler.scale = operation;
    if (kind == OpKind::unscale && !scaler.unscale) scaler.unscale = operation;
    if (kind == OpKind::update_scale && !scaler.update) scaler.update = operation;
  }
  return scaler;
}

void check_scaler(const sema::Spec& spec, diagnostics::Engine& engine) {
  const AmpMode mode = spec.amp.value.mode;
  const Scaler scaler = scaler_of(spec);
  if (mode != AmpMode::fp16) {
    if (const sema::Operation* first = scaler.any()) {
      engine.report(Code::L506, first->span, {name_of(mode), plan::name(first->op.kind)})
          .help(mode == AmpMode::bf16
                    ? "bf16 has the range of fp32 and needs no loss scale: delete the scaler's operations"
                    : "delete the scaler's operations, or write `amp = fp16(…)`");
    }
    return;
  }
  if (!scaler.scale && !scaler.unscale) {
    engine.report(Code::L501, spec.micro.written ? spec.micro.span : spec.amp.span)
        .also(spec.amp.span, "fp16 here")
        .help(
            "write `scale_loss(loss_scale)` between `loss` and `backward`, `unscale` at the start of "
            "`update`, and "
            "`update_scale` after `step`");
  } else if (!scaler.update) {
    engine.report(Code::L507, scaler.any()->span).help("write `update_scale` after `step`");
  }
}

}  // namespace

void check_precision(const sema::Spec& spec, diagnostics::Engine& engine) {
  if (spec.micro.written) check_autocast(spec.micro.operations, nullptr, spec.amp.value.mode, engine);
  check_scaler(spec, engine);
}

}  // namespace loop::check
