// Mixed precision: what the order analysis cannot see, because it reckons with exact numbers.
#include <cmath>

#include "compiler/check/rules/rules.h"
#include "compiler/check/typestate/executor.h"
#include "runtime/plan/expression.h"

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

/// A constant that the loss is multiplied by, in the place of a loss scale.
struct ConstantScale {
  const sema::Operation* operation = nullptr;
  double number = 1;
  bool divided = false;  // by a count or K, before `backward`
};

ConstantScale constant_scale(const sema::Spec& spec) {
  ConstantScale scale;
  for (const sema::Operation* operation : all_operations(spec)) {
    if (operation->op.kind == OpKind::loss && operation->op.loss_mode != plan::LossMode::sum)
      scale.divided = true;
    if (operation->op.kind != OpKind::scale_loss) continue;
    for (const plan::Power& power : operation->op.factor.powers) {
      const bool count = power.symbol == plan::Power::Symbol::count_global ||
                         power.symbol == plan::Power::Symbol::count_rank ||
                         power.symbol == plan::Power::Symbol::count_micro;
      scale.divided = scale.divided || (count && power.exponent < 0);
    }
    scale.number *= operation->op.factor.number;
    if (operation->op.factor.number > 1 && !scale.operation) scale.operation = operation;
  }
  return scale;
}

/// What a full window of one rank counts at most in this class, where the spec says it.
std::optional<double> most_per_window(const sema::Spec& spec, const plan::CountClass& count_class) {
  const plan::WindowSize& size = spec.window.size.value;
  const double context = static_cast<double>(spec.model.facts.context.value_or(0));
  const bool of_sequences =
      count_class.unit == plan::CountUnit::tokens || count_class.unit == plan::CountUnit::positions;
  if (!of_sequences && count_class.unit != plan::CountUnit::samples) return std::nullopt;
  const double per_sample = of_sequences ? context : 1;
  double samples = 0;
  switch (size.unit) {
    case plan::WindowSize::Unit::micro_batches:
      samples = static_cast<double>(size.value * spec.data.micro_batch_samples.value);
      break;
    case plan::WindowSize::Unit::samples:
      samples = static_cast<double>(size.value);
      break;
    case plan::WindowSize::Unit::tokens:
    case plan::WindowSize::Unit::positions:
      if (of_sequences) return static_cast<double>(size.value);
      return std::nullopt;
  }
  if (per_sample * samples < 2) return std::nullopt;
  return per_sample * samples;
}

void report_constant_scale(const sema::Spec& spec, const ConstantScale& scale, diagnostics::Engine& engine) {
  const std::string number = plan::to_text(plan::Expression::constant(scale.number));
  if (scale.divided || spec.count_classes.empty()) {
    engine.report(Code::L511, scale.operation->span, {number})
        .help(
            "write `scale_loss(loss_scale)`, `unscale` at the start of `update` and `update_scale` after "
            "`step`");
    return;
  }
  const plan::CountClass& count_class = spec.count_classes.front();
  const std::string unit = plan::name(count_class.unit);
  diagnostics::Diagnostic& finding = engine.report(Code::L510, scale.operation->span, {"a sum over " + unit});
  if (const std::optional<double> most = most_per_window(spec, count_class)) {
    const auto halvings = static_cast<int64_t>(std::lround(std::log2(*most)));
    finding.note("a window counts up to " + plan::to_text(plan::Expression::constant(*most)) + " " + unit +
                 " per rank; a sum is larger than the mean by as much, and " + number + " must be halved " +
                 std::to_string(halvings) + " times to leave the same room below 65504");
  }
  finding
      .help(
          "write `scale_loss(loss_scale)`, `unscale` and `update_scale`: the loss scale is divided by a "
          "power of two near the window's count before its first `forward`")
      .help("or divide before `backward`, with `loss(normalized)`");
}

void check_skipping(const sema::Spec& spec, diagnostics::Engine& engine) {
  constexpr int64_t kManySkips = 1000;
  const double kSmallestNormal = std::ldexp(1.0, -14);  // of fp16
  const plan::Nonfinite& nonfinite = spec.nonfinite.value;
  if (nonfinite.action == plan::NonfiniteAction::skip && nonfinite.limit > kManySkips) {
    engine.report(Code::L508, spec.nonfinite.span, {std::to_string(nonfinite.limit)})
        .note("nothing is learnt in a skipped update, and the run goes on as if it were")
        .help("`limit = 50` is the default: after 16 of them in a row a loss scale of 65536 is down to 1");
  }
  const plan::Amp& amp = spec.amp.value;
  if (amp.mode == AmpMode::fp16 && amp.min_scale < kSmallestNormal) {
    engine.report(Code::L509, spec.amp.span, {plan::to_text(plan::Expression::constant(amp.min_scale))})
        .note("the smallest normal number of fp16 is 6.1e-5")
        .help(
            "`min_scale: 1`, the default: below it the scale cannot help; `nonfinite { limit = … }` then "
            "stops the run");
  }
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
  const ConstantScale constant = constant_scale(spec);
  if (!scaler.any() && constant.operation) {
    report_constant_scale(spec, constant, engine);
  } else if (!scaler.scale && !scaler.unscale) {
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
  check_skipping(spec, engine);
}

}  // namespace loop::check
