// A spec's operations made ready for literal execution: flat lists with jumps, names replaced by numbers.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "compiler/sema/spec.h"
#include "tests/oracle/world.h"

namespace loop::oracle {

/// E of scale_loss(E) and scale_grad(E) in numbers: number · S^s · K^configured · K^counted · R^ranks · N … .
struct FlatFactor {
  double number = 1;
  int scale = 0, configured = 0, counted = 0, ranks = 0;
  std::array<int, kMaxTerms> global{}, rank{}, micro{};  // by count class
};

/// Hyper-parameters of SGD with momentum: v <- μ v + g + λ θ, θ <- θ - lr(updates) v.
struct Rule {
  std::array<double, 24> lr{};  // by the clock `updates`; the last one holds for all later values
  double momentum = 0;
  double weight_decay = 0;
};

struct Instruction {
  plan::OpKind kind = plan::OpKind::forward;
  bool closes = false;  // the end of an autocast, sync_on or when
  plan::LossMode loss_mode = plan::LossMode::sum;
  plan::SyncOn sync_on = plan::SyncOn::last;
  plan::ReduceMode reduce_mode = plan::ReduceMode::sum;
  FlatFactor factor;
  double limit = 0;                             // clips
  unsigned groups = 0;                          // clips and step, one bit per group
  int rule = -1;                                // step
  int clock = -1;                               // tick: which one
  int end = -1;                                 // when: index of its end
  const plan::Expression* condition = nullptr;  // when; belongs to the spec
};

/// The clocks that are followed. `updates` and `tokens` count applied windows only.
enum Clock { kUpdates, kAttempts, kMicroBatches, kTokens, kTokensSeen, kClocks };

struct Clip {
  plan::OpKind kind = plan::OpKind::clip_norm;
  double limit = 0;
  unsigned groups = 0;
  friend bool operator==(const Clip&, const Clip&) = default;
};

struct Program {
  // What the spec fixes.
  int groups = 1;
  int classes = 1;
  std::array<plan::CountUnit, kMaxTerms> unit{};
  std::array<double, kMaxTerms> constant{};  // per 64
  std::array<std::string, kMaxTerms> unit_name;
  int terms = 1;
  std::array<double, kMaxTerms> weight{};
  std::array<int, kMaxTerms> class_of{};
  bool fp16 = false;
  double init_scale = 1, growth = 2, backoff = 0.5, min_scale = 1;
  int growth_interval = 1;
  bool manual = false;            // sync = manual
  bool reduces_only_new = false;  // the canonical `sync = every`
  plan::ReduceMode reduce = plan::ReduceMode::sum;
  double ema_decay = 0;
  bool has_average = false;

  std::vector<Instruction> micro, update;
  std::vector<Rule> rules;

  // What the reference takes from it.
  std::vector<Clip> clips;                      // in the order of the text
  std::array<int, kMaxGroups> rule_of{-1, -1};  // by group
  bool updates_scale = false;
  bool names_average = false;
  std::array<bool, kClocks> names_clock{};

  /// Why it is an error before anything runs; empty when it is none.
  std::string error;
};

/// Throws std::logic_error for a spec that is outside of the small model (more groups, terms or classes).
void compile(const sema::Spec& spec, Program& program);

}  // namespace loop::oracle
