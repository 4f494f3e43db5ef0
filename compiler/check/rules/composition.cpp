// Models and losses whose result depends on how a window is split.
#include "compiler/check/rules/rules.h"

namespace loop::check {
namespace {

using diagnostics::Code;

constexpr int64_t kFewSamples = 8;  // below this, BatchNorm's statistics are too noisy to train with
constexpr int64_t kManyMicroBatches = 16;

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
  if (*batch_norm.value == plan::BatchNorm::across_ranks && several_micro_batches(spec)) {
    engine.report(Code::L803, batch_norm.span);
  }
}

void check_coupling(const sema::Spec& spec, diagnostics::Engine& engine) {
  const bool one_batch = !several_micro_batches(spec) && spec.ranks.value == 1;
  if (one_batch) return;
  const char* repair = "use windows of one micro-batch on one rank, or a loss that is a sum over samples";
  for (const sema::LossTerm& term : spec.terms) {
    if (!term.facts.known || term.facts.decomposes) continue;
    const size_t index = static_cast<size_t>(term.term.count_class);
    // Declared as a mean over micro-batches, the coupling within one micro-batch is the objective.
    if (index < spec.count_classes.size() && spec.count_classes[index].unit == plan::CountUnit::micro_batch)
      continue;
    engine
        .report(Code::L804, term.span,
                {term.term.component.name,
                 term.facts.coupling.empty() ? "its value is no sum over samples" : term.facts.coupling})
        .help(repair)
        .help("or declare what you mean: `per micro_batch`");
  }
}

}  // namespace

void check_composition(const sema::Spec& spec, diagnostics::Engine& engine) {
  check_batch_norm(spec, engine);
  check_coupling(spec, engine);
  if (spec.model.facts.random && several_micro_batches(spec)) {
    engine.report(Code::L806, spec.model.span, {spec.model.component.name, micro_batches_text(spec)})
        .note("equal in distribution, not in every number");
  }
  const plan::WindowSize& size = spec.window.size.value;
  if (size.unit == plan::WindowSize::Unit::micro_batches && size.value > kManyMicroBatches) {
    engine.report(Code::L807, spec.window.size.span, {std::to_string(size.value)});
  }
}

}  // namespace loop::check
