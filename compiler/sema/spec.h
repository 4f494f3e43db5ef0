// A loop with its meaning: names resolved, units and ranges checked, defaults filled in, modules and recipes
// expanded. The values are the plan's own types; around them stand the places a diagnostic points at.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/base/source.h"
#include "runtime/plan/plan.h"

namespace loop::sema {

using base::Span;

/// A value with the place it was written at. `written` is false for defaults; `span` then is the enclosing
/// block's keyword.
template <class T>
struct Setting {
  T value{};
  Span span;
  bool written = false;
};

/// What the standard library says of a model, by its descriptor (stdlib/models/*.loop).
struct ParameterInfo {
  std::string name;            // "blocks.0.attention.query.weight"
  std::vector<int64_t> shape;  // -1: known only when the data has been read (vocabulary, features, classes)
};
struct ModelFacts {
  bool known = false;            // false: a user's own model, nothing is known
  bool batch_norm = false;       // has BatchNorm layers
  bool couples_samples = false;  // outputs of one sample depend on the others in its batch
  bool random = false;           // draws random numbers in training (dropout > 0)
  bool recompute = false;
  std::optional<int64_t> context;  // positions per sample, sequence models
  std::vector<ParameterInfo> parameters;
};
struct ModelUse {
  plan::Component component;
  ModelFacts facts;
  Span span;
};

/// What the standard library says of a source (stdlib/sources/*.loop).
struct SourceFacts {
  bool known = false;
  bool finite = true;
  bool equal_counts = false;            // every sample has the same number of counted units, none masked
  bool split_by_file = false;           // ranks read files of their own instead of one global order
  std::optional<int64_t> size_samples;  // where it is written down
};
struct SourceUse {
  plan::Source source;
  SourceFacts facts;
  Span span;
  Span name_span;
  std::vector<Setting<std::string>> files;  // data files it names, as written
};

/// What the standard library says of a loss (stdlib/losses/*.loop).
struct LossFacts {
  bool known = false;
  bool decomposes = true;  // Σ over samples; false: couples the samples of a batch
  std::string coupling;    // what couples them, for the message
  bool masked = false;     // has `ignore`
};
struct LossTerm {
  plan::LossTerm term;
  LossFacts facts;
  Span span;
  Span name_span;
  Span unit_span;  // of `per …`; the term's span when it is missing
};

struct Group {
  plan::Group group;
  Span span;
};

/// An operation with its places. `op.body` stays empty: the nested ones are in `body`.
struct Operation {
  plan::Operation op;
  Span span;           // the whole statement
  Span name_span;      // its keyword
  Span argument_span;  // what stands between its parentheses
  std::vector<Operation> body;
};

/// `micro { … }` or `update { … }`. When not written, `operations` is the canonical order and every span is
/// the loop's name.
struct Program {
  bool written = false;
  bool completed = false;  // update block of `step`s only: the compiler wrote the rest around them
  Span span;
  std::vector<Operation> operations;
};

struct Data {
  Span span;
  std::vector<SourceUse> sources;
  int train = -1;                        // index into sources
  Setting<int64_t> micro_batch_samples;  // 0 with `micro_batch_auto`
  bool micro_batch_auto = false;         // `micro_batch = auto`: chosen by the run, within Spec::memory_bytes
  Setting<plan::Order> order;
  Setting<plan::ShortPolicy> short_policy;
  Setting<plan::UnevenPolicy> uneven;
};

struct Window {
  Span span;
  Setting<plan::WindowSize> size;
  Setting<plan::Sync> sync;
  Setting<plan::ReduceMode> reduce;
  Setting<std::optional<plan::Tail>> tail;
  Setting<plan::EmptyPolicy> empty;
  Setting<plan::OomPolicy> oom;
  Setting<plan::Compression> compress;
};

struct Average {
  plan::Average average;
  Span span;
};

struct StopCondition {
  plan::StopCondition condition;
  Span span;
};

struct Evaluation {
  plan::Evaluation evaluation;
  Span span;
  Span every_span;
  Span metrics_span;
};

/// An update rule's definition, from the standard library or the spec.
struct RuleDefinition {
  std::string qualified_name;  // "std.optimizers.adamw"; without "std." for a user's
  bool standard = false;
  struct Parameter {
    std::string name;
    std::optional<double> default_value;
    std::optional<double> low, high;
    bool low_closed = true, high_closed = true;
    bool truth = false;  // `nesterov = false`: true or false, 1 or 0 in the plan
  };
  std::vector<Parameter> parameters;
  std::vector<std::string> states;
  struct Statement {
    enum class Kind { let, assign };
    Kind kind;
    std::string target;  // a let's name, a state, or "param"
    plan::Expression value;
    Span span;
  };
  std::vector<Statement> statements;
  std::vector<std::string> needs;  // "norm(param)", "norm(grad)"
  Span span;
};

/// A schedule used in a hyper-parameter, as far as the clock rules need it.
struct ScheduleUse {
  std::string schedule;  // "std.schedules.warmup_cosine"
  plan::Clock clock = plan::Clock::updates;
  std::optional<plan::Expression> total;
  plan::Expression value;  // inlined
  Span span;
};

struct Spec {
  base::FileId file;
  std::string name;
  Span name_span;
  Span span;  // the loop's block
  std::string base_dir;
  std::vector<plan::SpecFile> spec_files;
  std::vector<std::string> overrides;
  std::string resolved_text;  // the loop after extends, recipes and overrides, formatted

  Setting<uint64_t> seed;
  Setting<plan::Device> device;
  Setting<std::optional<int64_t>> ranks;
  Setting<plan::Dtype> dtype;
  Setting<plan::Dtype> accumulate;
  Setting<double> memory_bytes;  // 0: no budget is given
  ModelUse model;
  Setting<std::string> init_weights;  // empty: random
  Setting<std::optional<plan::BatchNorm>> batch_norm;
  Data data;
  std::vector<Group> groups;
  Span params_span;
  std::vector<LossTerm> terms;
  Span loss_span;
  std::vector<plan::CountClass> count_classes;
  Setting<plan::Amp> amp;
  Window window;
  Setting<plan::Nonfinite> nonfinite;
  Program micro;
  Program update;
  std::vector<Average> averages;
  std::vector<StopCondition> stop;
  Span stop_span;
  std::vector<Evaluation> evaluations;
  Setting<std::optional<plan::Checkpoint>> checkpoint;
  Setting<std::string> resume;
  Setting<plan::Log> log;
  Setting<int64_t> check_replicas_updates;
  std::vector<RuleDefinition> rules;  // those used by the steps
  std::vector<ScheduleUse> schedules;
};

}  // namespace loop::sema
