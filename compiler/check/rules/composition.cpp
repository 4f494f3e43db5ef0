// Models and losses whose result depends on how a window is split.
#include "compiler/check/rules/rules.h"

namespace loop::check {
namespace {

using diagnostics::Code;

constexpr int64_t kFewSamples = 8;  // below this, BatchNorm's statistics are too noisy to train with
constexpr int64_t kManyMicroBatches = 16;

/// The last micro-batch of an epoch holds what is left, down to a single sample.
void check_short_micro_batch(const sema::Spec& spec, diagnostics::Engine& engine) {
  const sema::SourceUse* source = train_source(spec);
  const int64_t samples = spec.data.micro_batch_samples.value;
  if (!source || !source->facts.finite || spec.data.short_policy.value != plan::ShortPolicy::keep ||
      samples < 2) {
    return;
  }
  std::string few = "as few as 1 sample";
  if (source->facts.size_samples && spec.ranks.value == 1) {
    const int64_t left = *source->facts.size_samples % samples;
    if (left == 0 || left >= kFewSamples) return;
    few = std::to_string(left) + (left == 1 ? " sample" : " samples");
  }
  engine.report(Code::L809, spec.batch_norm.span, {few})
      .also(spec.data.micro_batch_samples.span, "the last one is as short as it comes out")
      .help("`short = drop` in `data` leaves it out");
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
    const size_t index = static_cast<size_t>(term.term.count_class);
    // Declared as a mean over micro-batches, the coupling within one micro-batch is the objective.
    if (index < spec.count_classes.size() && spec.count_classes[index].unit == plan::CountUnit::micro_batch)
      continue;
    diagnostics::Diagnostic& finding = engine.report(
        Code::L804, term.span,
        {term.term.component.name,
         term.facts.coupling.empty() ? "its value is no sum over samples" : term.facts.coupling});
    if (asks_for_the_window(term)) {
      finding.note("samples of the whole window, by cached representations, are not available yet");
    }
    finding.help(repair);
    if (counted) {
      const int64_t samples = size.value * spec.data.micro_batch_samples.value;
      finding.help("`micro_batch = " + std::to_string(samples) +
                   " samples` with `size = 1 micro_batches` keeps as many samples together on a rank");
    }
    finding.help("or declare what you mean: `per micro_batch`");
  }
}

}  // namespace

void check_composition(const sema::Spec& spec, diagnostics::Engine& engine) {
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
