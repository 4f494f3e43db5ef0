// The operations of a training loop as data: what a plan lists and the engine executes in order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/expression.h"

namespace loop::plan {

enum class OpKind {
  forward,
  loss,
  scale_loss,
  backward,
  autocast,
  sync_on,  // micro
  reduce,   // micro and update
  unscale,
  normalize,
  scale_grad,
  clip_norm,
  clip_value,
  step,  // update
  update_scale,
  zero_grad,
  tick,
  average,
  when
};

enum class LossMode { sum, mean, normalized };  // loss, loss(mean), loss(normalized)
enum class ReduceMode { sum, mean };
enum class SyncOn { last, first, every, none };

/// A power of one symbol in a factor. Counts are the finished window's: global N, this rank's N_r, this
/// micro-batch's n_rk.
struct Power {
  enum class Symbol {
    loss_scale,
    micro_batches,
    micro_batches_counted,
    ranks,
    count_global,
    count_rank,
    count_micro
  };
  Symbol symbol = Symbol::loss_scale;
  int count_class = -1;  // for the three counts: index into Plan::count_classes
  std::string unit;      // as written: "tokens"
  int exponent = 1;
  friend bool operator==(const Power&, const Power&) = default;
};

/// `E` of scale_loss(E) and scale_grad(E): a number times powers of symbols.
struct Factor {
  double number = 1;
  std::vector<Power> powers;
  friend bool operator==(const Factor&, const Factor&) = default;
};
std::string to_text(const Factor& factor);

/// The update rule of one step. `optimizer` is fully qualified ("std.optimizers.adamw", or "lion" for one in
/// the spec); `hyper` holds every hyper-parameter, defaults filled in, schedules inlined as expressions over
/// clocks and "horizon".
struct NamedExpression {
  std::string name;
  Expression value;
  friend bool operator==(const NamedExpression&, const NamedExpression&) = default;
};
struct StepRule {
  std::string optimizer;
  std::vector<NamedExpression> hyper;
  friend bool operator==(const StepRule&, const StepRule&) = default;
  const Expression* find(const std::string& name) const;
};

/// Place in the spec for messages: "char_gpt.loop:31:5".
struct Place {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
  friend bool operator==(const Place&, const Place&) = default;
};
std::string to_text(const Place& place);

struct Operation {
  OpKind kind = OpKind::forward;
  LossMode loss_mode = LossMode::sum;        // loss
  Factor factor;                             // scale_loss, scale_grad
  SyncOn sync_on = SyncOn::last;             // sync_on
  ReduceMode reduce_mode = ReduceMode::sum;  // reduce
  Expression limit;                          // clip_norm, clip_value: the threshold, may follow a clock
  std::vector<std::string> groups;           // clip, step: group names; empty = all groups
  StepRule rule;                             // step
  std::string target;                        // tick, average: the clock's or average's name
  Expression condition;                      // when
  std::vector<Operation> body;               // autocast, sync_on, when
  /// Decided by the plan's passes: the operation changes a factor per group that the next pass over memory
  /// applies (unscale, normalize, scale_grad, clip_norm), or the steps have done its work (zero_grad).
  bool folded = false;
  bool zeroes = false;  // step: writes zeros into the gradients it has read
  Place place;
  friend bool operator==(const Operation&, const Operation&) = default;
};

const char* name(
    OpKind kind);  // as spelled in a spec: "scale_loss", clip_norm and clip_value are both "clip"
const char* name(LossMode mode);
const char* name(ReduceMode mode);
const char* name(SyncOn mode);

/// The operation as it would be written in a spec, without its body: `clip(norm: 1) on decayed`.
std::string to_text(const Operation& operation);

}  // namespace loop::plan
