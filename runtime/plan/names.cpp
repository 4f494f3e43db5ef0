#include "runtime/plan/names.h"

namespace loop::plan {

#define LOOP_SPELLINGS(Enum, ...)                     \
  const Spellings<Enum>& spellings(Enum) {            \
    static const Spellings<Enum> kTable{__VA_ARGS__}; \
    return kTable;                                    \
  }

LOOP_SPELLINGS(Device, {Device::automatic, "auto"}, {Device::cpu, "cpu"}, {Device::cuda, "cuda"})
LOOP_SPELLINGS(Dtype, {Dtype::fp32, "fp32"}, {Dtype::fp64, "fp64"}, {Dtype::bf16, "bf16"})
LOOP_SPELLINGS(Order, {Order::shuffled, "shuffled"}, {Order::sequential, "sequential"})
LOOP_SPELLINGS(ShortPolicy, {ShortPolicy::keep, "keep"}, {ShortPolicy::drop, "drop"},
               {ShortPolicy::pad, "pad"})
LOOP_SPELLINGS(UnevenPolicy, {UnevenPolicy::error, "error"}, {UnevenPolicy::drop, "drop"},
               {UnevenPolicy::pad_empty, "pad_empty"})
LOOP_SPELLINGS(Sync, {Sync::last, "last"}, {Sync::every, "every"}, {Sync::manual, "manual"})
LOOP_SPELLINGS(Tail, {Tail::flush, "flush"}, {Tail::carry, "carry"}, {Tail::drop, "drop"})
LOOP_SPELLINGS(EmptyPolicy, {EmptyPolicy::skip, "skip"}, {EmptyPolicy::error, "error"})
LOOP_SPELLINGS(OomPolicy, {OomPolicy::error, "error"}, {OomPolicy::halve, "halve"})
LOOP_SPELLINGS(NonfiniteAction, {NonfiniteAction::skip, "skip"}, {NonfiniteAction::stop, "stop"})
LOOP_SPELLINGS(BatchNorm, {BatchNorm::per_micro, "per_micro"}, {BatchNorm::across_ranks, "across_ranks"},
               {BatchNorm::frozen, "frozen"})
LOOP_SPELLINGS(AmpMode, {AmpMode::off, "off"}, {AmpMode::bf16, "bf16"}, {AmpMode::fp16, "fp16"})
LOOP_SPELLINGS(Compression, {Compression::none, "none"}, {Compression::bf16, "bf16"})
LOOP_SPELLINGS(UpdateRule::Statement::Kind, {UpdateRule::Statement::Kind::let, "let"},
               {UpdateRule::Statement::Kind::assign, "assign"})
LOOP_SPELLINGS(CountUnit, {CountUnit::tokens, "tokens"}, {CountUnit::samples, "samples"},
               {CountUnit::boxes, "boxes"}, {CountUnit::class_weight, "class_weight"},
               {CountUnit::constant, "constant"}, {CountUnit::window, "window"},
               {CountUnit::micro_batch, "micro_batch"}, {CountUnit::positions, "positions"})
LOOP_SPELLINGS(Clock, {Clock::updates, "updates"}, {Clock::attempts, "attempts"},
               {Clock::micro_batches, "micro_batches"}, {Clock::epochs, "epochs"},
               {Clock::samples, "samples"}, {Clock::tokens, "tokens"}, {Clock::samples_seen, "samples_seen"},
               {Clock::tokens_seen, "tokens_seen"}, {Clock::evaluations, "evaluations"},
               {Clock::seconds, "seconds"})
LOOP_SPELLINGS(WindowSize::Unit, {WindowSize::Unit::micro_batches, "micro_batches"},
               {WindowSize::Unit::samples, "samples"}, {WindowSize::Unit::tokens, "tokens"},
               {WindowSize::Unit::positions, "positions"})
LOOP_SPELLINGS(OpKind, {OpKind::forward, "forward"}, {OpKind::loss, "loss"},
               {OpKind::scale_loss, "scale_loss"}, {OpKind::backward, "backward"},
               {OpKind::autocast, "autocast"}, {OpKind::sync_on, "sync_on"}, {OpKind::reduce, "reduce"},
               {OpKind::unscale, "unscale"}, {OpKind::normalize, "normalize"},
               {OpKind::scale_grad, "scale_grad"}, {OpKind::clip_norm, "clip_norm"},
               {OpKind::clip_value, "clip_value"}, {OpKind::step, "step"},
               {OpKind::update_scale, "update_scale"}, {OpKind::zero_grad, "zero_grad"},
               {OpKind::tick, "tick"}, {OpKind::average, "average"}, {OpKind::when, "when"})
LOOP_SPELLINGS(LossMode, {LossMode::sum, "sum"}, {LossMode::mean, "mean"},
               {LossMode::normalized, "normalized"})
LOOP_SPELLINGS(ReduceMode, {ReduceMode::sum, "sum"}, {ReduceMode::mean, "mean"})
LOOP_SPELLINGS(SyncOn, {SyncOn::last, "last"}, {SyncOn::first, "first"}, {SyncOn::every, "every"},
               {SyncOn::none, "none"})
LOOP_SPELLINGS(Power::Symbol, {Power::Symbol::loss_scale, "loss_scale"},
               {Power::Symbol::micro_batches, "micro_batches"},
               {Power::Symbol::micro_batches_counted, "micro_batches.counted"},
               {Power::Symbol::ranks, "ranks"}, {Power::Symbol::count_global, "count.global"},
               {Power::Symbol::count_rank, "count.rank"}, {Power::Symbol::count_micro, "count.micro"})
LOOP_SPELLINGS(Predicate::Kind, {Predicate::Kind::all, "all"}, {Predicate::Kind::others, "others"},
               {Predicate::Kind::name_glob, "name"}, {Predicate::Kind::ndim, "ndim"},
               {Predicate::Kind::logical_and, "and"}, {Predicate::Kind::logical_or, "or"},
               {Predicate::Kind::logical_not, "not"})
LOOP_SPELLINGS(StopCondition::Kind, {StopCondition::Kind::reached, "reached"},
               {StopCondition::Kind::no_better, "no_better"})
LOOP_SPELLINGS(Expression::Kind, {Expression::Kind::constant, "constant"},
               {Expression::Kind::variable, "variable"}, {Expression::Kind::apply, "apply"})

#undef LOOP_SPELLINGS

const char* name(Clock clock) {
  return spelling(clock);
}
const char* name(CountUnit unit) {
  return spelling(unit);
}
const char* name(Dtype dtype) {
  return spelling(dtype);
}
const char* name(Tail tail) {
  return spelling(tail);
}
const char* name(Order order) {
  return spelling(order);
}
const char* name(WindowSize::Unit unit) {
  return spelling(unit);
}

}  // namespace loop::plan
