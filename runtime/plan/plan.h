// The plan: everything a run needs, decided. Written by the compiler, executed by the runtime, printed by
// `loopc plan`. It is the only contract between both halves.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/operation.h"
#include "runtime/plan/update_rule.h"

namespace loop::plan {

using json = nlohmann::ordered_json;

inline constexpr int kPlanVersion = 2;

enum class Device { automatic, cpu, cuda };
enum class Dtype { fp32, fp64, bf16 };
enum class Order { shuffled, sequential };
enum class ShortPolicy { keep, drop, pad };
enum class UnevenPolicy { error, drop, pad_empty };
enum class Sync { last, every, manual };
enum class Tail { flush, carry, drop };
enum class EmptyPolicy { skip, error };
enum class OomPolicy { error, halve };
enum class NonfiniteAction { skip, stop };
enum class BatchNorm { per_micro, across_ranks, frozen };
enum class AmpMode { off, bf16, fp16 };
/// The type in which buckets of gradients travel between ranks: their own, or rounded to bf16.
enum class Compression { none, bf16 };

/// A named component with its arguments: a model, a source, a loss, a metric. Argument values are JSON:
/// numbers, strings, booleans, lists; a bare name is a string; `first(90%)` is {"call":"first","args":[0.9]};
/// a quantity is {"value":4,"unit":"GiB"}.
struct Component {
  std::string name;
  json args = json::object();
  friend bool operator==(const Component&, const Component&) = default;
};

/// A data source of the spec: `train = text("corpus.txt", …)`. Paths are absolute or relative to
/// `Plan::base_dir`.
struct Source {
  std::string name;
  Component component;
  friend bool operator==(const Source&, const Source&) = default;
};

struct Data {
  std::vector<Source> sources;
  std::string train;                // name of the source that is trained on
  int64_t micro_batch_samples = 0;  // per rank; 0 with `micro_batch_auto` until the run has chosen
  bool micro_batch_auto = false;    // the largest that fits into Plan::memory_bytes
  Order order = Order::shuffled;
  ShortPolicy short_policy = ShortPolicy::keep;
  UnevenPolicy uneven = UnevenPolicy::error;
  friend bool operator==(const Data&, const Data&) = default;
};

/// Which parameters a group takes.
struct Predicate {
  enum class Kind { all, others, name_glob, ndim, logical_and, logical_or, logical_not };
  Kind kind = Kind::all;
  std::string glob;        // name_glob
  std::string comparison;  // ndim: "<", "<=", ">", ">=", "==", "!="
  int64_t ndim = 0;
  std::vector<Predicate> operands;  // and, or, not
  friend bool operator==(const Predicate&, const Predicate&) = default;
};

struct Group {
  std::string name;
  Predicate predicate;
  bool frozen = false;  // no gradient, no state, no part in any norm
  Place place;
  friend bool operator==(const Group&, const Group&) = default;
};

/// What a loss term is divided by (`per …`).
enum class CountUnit { tokens, samples, boxes, class_weight, constant, window, micro_batch, positions };

/// Terms that share unit and mask share one count N.
struct CountClass {
  CountUnit unit = CountUnit::tokens;
  double constant = 1;                 // constant (per 64)
  std::optional<int64_t> ignore;       // targets with this value are neither summed nor counted
  std::optional<Expression> at_least;  // per boxes(at_least: ranks)
  friend bool operator==(const CountClass&, const CountClass&) = default;
};

/// w_t / N_t · Σ ℓ_ti
struct LossTerm {
  std::string name;
  double weight = 1;
  Component component;  // cross_entropy, mse, …
  int count_class = 0;
  Place place;
  friend bool operator==(const LossTerm&, const LossTerm&) = default;
};

struct Amp {
  AmpMode mode = AmpMode::off;
  double init_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  int64_t growth_interval = 2000;  // applied windows in a row
  double min_scale = 1;
  friend bool operator==(const Amp&, const Amp&) = default;
};

/// The clocks and other units that `stop`, `every` and schedules name.
enum class Clock {
  updates,
  attempts,
  micro_batches,
  epochs,
  samples,
  tokens,
  samples_seen,
  tokens_seen,
  evaluations,
  seconds
};

struct WindowSize {
  enum class Unit { micro_batches, samples, tokens, positions };
  Unit unit = Unit::micro_batches;  // micro_batches per rank; the others global
  int64_t value = 1;                // for a ramp: the final value
  struct Ramp {
    int64_t from = 1;
    Clock over_clock = Clock::updates;
    double over = 0;
    friend bool operator==(const Ramp&, const Ramp&) = default;
  };
  std::optional<Ramp> ramp;
  friend bool operator==(const WindowSize&, const WindowSize&) = default;
};

struct Window {
  WindowSize size;
  Sync sync = Sync::last;
  ReduceMode reduce = ReduceMode::sum;
  std::optional<Tail> tail;  // absent only for sources that never end
  EmptyPolicy empty = EmptyPolicy::skip;
  OomPolicy oom = OomPolicy::error;
  Compression compress = Compression::none;
  friend bool operator==(const Window&, const Window&) = default;
};

struct Nonfinite {
  NonfiniteAction action = NonfiniteAction::skip;
  int64_t limit = 50;  // consecutive skipped updates, then the run fails
  friend bool operator==(const Nonfinite&, const Nonfinite&) = default;
};

/// Fires once per multiple of `value` on `clock`.
struct Trigger {
  Clock clock = Clock::updates;
  double value = 0;
  friend bool operator==(const Trigger&, const Trigger&) = default;
};

/// The run ends when any condition holds.
struct StopCondition {
  enum class Kind { reached, no_better };
  Kind kind = Kind::reached;
  Trigger limit;       // reached: 1000 updates, 90 epochs, 10 h
  std::string metric;  // no_better: "held_out.loss"
  double patience_evaluations = 0;
  Place place;
  friend bool operator==(const StopCondition&, const StopCondition&) = default;
};

/// Exponential moving average of the parameters: a <- decay·a + (1 - decay)·θ after each applied update.
struct Average {
  std::string name;
  Expression decay;
  bool buffers = false;
  friend bool operator==(const Average&, const Average&) = default;
};

struct Evaluation {
  std::string name;
  std::string source;
  std::vector<Trigger> every;
  std::optional<int64_t> limit_micro_batches;
  std::vector<std::string> metrics;  // "loss", "accuracy", "perplexity"
  bool at_start = false;
  bool at_end = false;
  std::string with = "model";  // or an average's name
  friend bool operator==(const Evaluation&, const Evaluation&) = default;
};

struct Keep {
  std::optional<int64_t> last;
  std::string best_metric;
  friend bool operator==(const Keep&, const Keep&) = default;
};
struct Checkpoint {
  std::string path;
  std::vector<Trigger> every;
  Keep keep;
  bool on_signal = false;
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

struct Log {
  bool enabled = true;
  std::string path;            // empty: runs/<loop name>
  std::vector<Trigger> every;  // empty: every update
  friend bool operator==(const Log&, const Log&) = default;
};

/// A text this plan was made from.
struct SpecFile {
  std::string path;
  std::string hash;  // content_hash of its bytes
  friend bool operator==(const SpecFile&, const SpecFile&) = default;
};

struct Plan {
  int version = kPlanVersion;
  std::string loop_name;
  std::string base_dir;  // absolute folder of the spec; data paths are relative to it
  std::vector<SpecFile> spec_files;
  std::vector<std::string> overrides;  // --set, as given
  std::string resolved_spec;           // the loop as resolved, in .loop syntax, saved beside the run

  uint64_t seed = 0;
  Device device = Device::automatic;
  std::optional<int64_t> ranks;
  Dtype dtype = Dtype::fp32;
  Dtype accumulate = Dtype::fp32;  // of the gradients' sums
  double memory_bytes = 0;         // budget of a rank's training step; 0: none was given
  Component model;
  std::string init_weights;  // empty: random
  std::optional<BatchNorm> batch_norm;
  Data data;
  std::vector<Group> groups;
  std::vector<CountClass> count_classes;
  std::vector<LossTerm> terms;
  Amp amp;
  Window window;
  Nonfinite nonfinite;
  std::vector<Operation> micro;   // executed for every micro-batch
  std::vector<Operation> update;  // executed once per window
  std::vector<UpdateRule> rules;  // what the steps name; each name once
  bool canonical_micro = true;    // written by the compiler, not by the user
  bool canonical_update = true;
  std::vector<Average> averages;
  std::vector<StopCondition> stop;
  std::vector<Evaluation> evaluations;
  std::optional<Checkpoint> checkpoint;
  std::string resume = "never";
  Log log;
  int64_t check_replicas_updates = 1000;
  friend bool operator==(const Plan&, const Plan&) = default;

  /// The text of a step's rule; null when the plan lacks it.
  const UpdateRule* rule_of(const StepRule& step) const;
};

const char* name(Clock clock);
const char* name(CountUnit unit);
const char* name(Dtype dtype);
const char* name(Tail tail);
const char* name(Order order);
const char* name(WindowSize::Unit unit);

}  // namespace loop::plan
