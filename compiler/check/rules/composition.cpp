// Models and losses whose result depends on how a window is split.
#include <algorithm>

#include "compiler/check/rules/epoch_windows.h"
#include "compiler/check/rules/rules.h"
#include "compiler/diagnostics/counts.h"

namespace loop::check {
namespace {

using diagnostics::Code;
using sema::Span;

constexpr int64_t kFewSamples = 8;  // below this, BatchNorm's statistics are too noisy to train with
constexpr int64_t kManyMicroBatches = 16;

/// Where a micro-batch can be shorter than the others, and how many samples it has then.
struct Remainder {
  std::string of;  // "an epoch", "a window"
  std::string samples;
  std::string repair;
};

std::string counted_samples(int64_t samples) {
  return diagnostics::counted(static_cast<size_t>(samples), "sample");
}

constexpr const char* kOpen = "as few as 1 sample";

/// What the last micro-batch of so many samples holds on the rank where it holds the least, if that is too
/// few: they are dealt to the ranks in turn, and a rank that gets none more runs an empty micro-batch.
std::optional<int64_t> few_left(int64_t dealt, int64_t ranks, int64_t micro_batch) {
  std::optional<int64_t> fewest;
  for (const int64_t share : {dealt / ranks, (dealt + ranks - 1) / ranks}) {
    const int64_t left = share % micro_batch;
    if (left > 0 && left < kFewSamples) fewest = std::min(fewest.value_or(left), left);
  }
  return fewest;
}

/// Windows in micro-batches: the last micro-batch of an epoch holds what is left, down to a single sample.
std::optional<Remainder> remainder_of_epoch(const sema::Spec& spec, const sema::SourceFacts& source) {
  const int64_t samples = spec.data.micro_batch_samples.value;
  if (!source.finite) return std::nullopt;
  std::string few_samples = kOpen;
  if (source.size_samples && spec.ranks.value && !source.split_by_file) {
    const std::optional<int64_t> few = few_left(*source.size_samples, *spec.ranks.value, samples);
    if (!few) return std::nullopt;
    few_samples = counted_samples(*few);
  }
  return Remainder{"an epoch", few_samples, "`short = drop` in `data` leaves it out"};
}

/// Windows in samples, tokens or positions are cut anew into micro-batches, each with a remainder of its own.
std::optional<Remainder> remainder_of_window(const sema::Spec& spec, const sema::SourceFacts& source) {
  const char* repair =
      "a size of a whole number of `micro_batch` times `ranks` leaves no remainder, with `ranks` fixed and "
      "`tail = carry` or `drop`";
  const int64_t micro_batch = spec.data.micro_batch_samples.value;
  const std::optional<int64_t> window = samples_per_window(spec, spec.window.size.value);
  const std::optional<int64_t> ranks = spec.ranks.value;
  if (!window || !ranks) return Remainder{"a window", kOpen, repair};
  if (const std::optional<int64_t> few = few_left(*window, *ranks, micro_batch))
    return Remainder{"a window", counted_samples(*few), repair};
  if (!source.finite || spec.window.tail.value != plan::Tail::flush) return std::nullopt;
  if (!source.size_samples) return Remainder{"an epoch", kOpen, repair};
  const std::optional<int64_t> few = few_left(*source.size_samples % *window, *ranks, micro_batch);
  if (!few) return std::nullopt;
  return Remainder{"an epoch", counted_samples(*few), repair};
}

void check_short_micro_batch(const sema::Spec& spec, diagnostics::Engine& engine) {
  const sema::SourceUse* source = train_source(spec);
  if (!source || spec.data.short_policy.value != plan::ShortPolicy::keep ||
      spec.data.micro_batch_samples.value < 2) {
    return;
  }
  const bool counted = spec.window.size.value.unit != plan::WindowSize::Unit::micro_batches;
  const std::optional<Remainder> remainder =
      counted ? remainder_of_window(spec, source->facts) : remainder_of_epoch(spec, source->facts);
  if (!remainder) return;
  engine.report(Code::L809, spec.batch_norm.span, {remainder->of, remainder->samples})
      .also(spec.data.micro_batch_samples.span, "the last one is as short as it comes out")
      .help(remainder->repair);
}

void check_batch_norm(const sema::Spec& spec, diagnostics::Engine& engine) {
  const sema::ModelFacts& model = spec.model.facts;
  const auto& batch_norm = spec.batch_norm;
  if (!model.batch_norm) {
    if (model.known && batch_norm.written) {
      engine.report(Code::L808, batch_norm.span, {spec.model.component.name}).help("delete it");
    }
    return;
  }
  if (!batch_norm.value) {
    engine.report(Code::L801, spec.model.span, {spec.model.component.name})
        .help("batch_norm = per_micro: over each micro-batch of each rank; the result depends on its size")
        .help("batch_norm = across_ranks: over one micro-batch of all ranks together")
        .help("batch_norm = frozen: the stored statistics are used and do not move");
    return;
  }
  if (spec.data.micro_batch_auto) return;  // L812
  const int64_t samples = spec.data.micro_batch_samples.value;
  if (*batch_norm.value == plan::BatchNorm::per_micro &&
      (several_micro_batches(spec) || samples < kFewSamples)) {
    const std::string over = std::to_string(samples) + " samples of one micro-batch" +
                             (several_micro_batches(spec)
                                  ? ", not over the window; its running statistics move once per micro-batch"
                                  : "");
    engine.report(Code::L802, batch_norm.span, {over})
        .help("a GroupNorm or LayerNorm model does not depend on the split; `frozen` does not either");
  }
  if (*batch_norm.value == plan::BatchNorm::per_micro) check_short_micro_batch(spec, engine);
  if (*batch_norm.value == plan::BatchNorm::across_ranks && several_micro_batches(spec)) {
    engine.report(Code::L803, batch_norm.span);
  }
}

bool per_micro_batch(const sema::Spec& spec, const sema::LossTerm& term) {
  const size_t index = static_cast<size_t>(term.term.count_class);
  return index < spec.count_classes.size() && spec.count_classes[index].unit == plan::CountUnit::micro_batch;
}

bool asks_for_the_window(const sema::LossTerm& term) {
  const auto& args = term.term.component.args;
  const auto negatives = args.find("negatives");
  return negatives != args.end() && negatives->is_string() && *negatives == "window";
}

void check_model(const sema::Spec& spec, diagnostics::Engine& engine) {
  const sema::ModelFacts& model = spec.model.facts;
  if (!model.couples_samples || model.batch_norm) return;
  if (!several_micro_batches(spec) && spec.ranks.value == 1) return;
  engine.report(Code::L805, spec.model.span, {spec.model.component.name})
      .help(
          "windows of one micro-batch on one rank do not split it; else the result is that of the split you "
          "choose");
}

/// Micro-batches of a window, where the spec fixes or bounds them.
int64_t most_micro_batches(const sema::Spec& spec) {
  const plan::WindowSize& size = spec.window.size.value;
  if (size.unit == plan::WindowSize::Unit::micro_batches) return size.value;
  const int64_t per_step = spec.data.micro_batch_samples.value * spec.ranks.value.value_or(0);
  if (size.unit != plan::WindowSize::Unit::samples || per_step <= 0) return 0;
  return (size.value + per_step - 1) / per_step;
}

void check_coupling(const sema::Spec& spec, diagnostics::Engine& engine) {
  const bool one_batch = !several_micro_batches(spec) && spec.ranks.value == 1;
  if (one_batch) return;
  const char* repair = "use windows of one micro-batch on one rank, or a loss that is a sum over samples";
  const plan::WindowSize& size = spec.window.size.value;
  const bool counted = size.unit == plan::WindowSize::Unit::micro_batches && !size.ramp && size.value > 1;
  for (const sema::LossTerm& term : spec.terms) {
    if (!term.facts.known || term.facts.decomposes) continue;
    // Declared as a mean over micro-batches, the coupling within one micro-batch is the objective.
    if (per_micro_batch(spec, term)) continue;
    diagnostics::Diagnostic& finding = engine.report(
        Code::L804, term.span,
        {term.term.component.name,
         term.facts.coupling.empty() ? "its value is no sum over samples" : term.facts.coupling});
    if (asks_for_the_window(term)) {
      finding.note("samples of the whole window, by cached representations, are not available yet");
    }
    finding.help(repair);
    if (counted && !spec.data.micro_batch_auto) {
      const int64_t samples = size.value * spec.data.micro_batch_samples.value;
      finding.help("`micro_batch = " + std::to_string(samples) +
                   " samples` with `size = 1 micro_batches` keeps as many samples together on a rank");
    }
    finding.help("or declare what you mean: `per micro_batch`");
  }
}

/// `micro_batch = auto` promises that the micro-batch changes memory and speed alone.
void check_automatic_micro_batch(const sema::Spec& spec, diagnostics::Engine& engine) {
  if (!spec.data.micro_batch_auto) {
    if (spec.memory_bytes.written)
      engine.report(Code::L814, spec.memory_bytes.span)
          .also(spec.data.micro_batch_samples.span, "given here")
          .help("write `micro_batch = auto`, or delete `memory`");
    return;
  }
  const sema::ModelFacts& model = spec.model.facts;
  const Span place = spec.data.micro_batch_samples.span;
  const char* repair =
      "give the number of samples that the result is meant for, as in `micro_batch = 8 samples`";
  const auto depends = [&](Span where, const std::string& what) {
    engine.report(Code::L812, place, {what}).also(where, "on this").help(repair);
  };
  const std::string name = "`" + spec.model.component.name + "`";
  if (model.batch_norm && spec.batch_norm.value && *spec.batch_norm.value != plan::BatchNorm::frozen) {
    depends(spec.batch_norm.span, name + " takes BatchNorm's statistics over one micro-batch");
  } else if (model.couples_samples && !model.batch_norm) {
    depends(spec.model.span, name + " couples the samples of a micro-batch");
  }
  for (const sema::LossTerm& term : spec.terms) {
    const std::string of = "`" + term.term.name + "`";
    if (term.facts.known && !term.facts.decomposes) {
      depends(term.span, of + " couples the samples of a micro-batch");
    } else if (per_micro_batch(spec, term)) {
      depends(term.unit_span, of + " is a mean over micro-batches");
    }
  }
  if (spec.window.size.value.unit == plan::WindowSize::Unit::micro_batches) {
    engine.report(Code::L813, spec.window.size.span)
        .also(place, "chosen when the run starts, by what fits")
        .help(
            "give the window's size in samples or tokens: so much over all ranks, whatever the micro-batch");
  }
}

}  // namespace

void check_composition(const sema::Spec& spec, diagnostics::Engine& engine) {
  check_automatic_micro_batch(spec, engine);
  check_batch_norm(spec, engine);
  check_model(spec, engine);
  check_coupling(spec, engine);
  if (spec.model.facts.random && several_micro_batches(spec)) {
    engine.report(Code::L806, spec.model.span, {spec.model.component.name, micro_batches_text(spec)})
        .note("equal in distribution, not in every number");
  }
  const int64_t micro_batches = most_micro_batches(spec);
  if (micro_batches > kManyMicroBatches)
    engine.report(Code::L807, spec.window.size.span, {std::to_string(micro_batches)});
}

}  // namespace loop::check
