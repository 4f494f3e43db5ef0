// Data that ranks share unevenly, and evaluations that measure the wrong thing.
#include "compiler/check/rules/rules.h"

namespace loop::check {
namespace {

using diagnostics::Code;

/// A metric has its own counts; a term that is no sum over units can only be meaned over micro-batches.
void check_metrics(const sema::Spec& spec, const sema::Evaluation& evaluation, diagnostics::Engine& engine) {
  for (const sema::LossTerm& term : spec.terms) {
    const size_t index = static_cast<size_t>(term.term.count_class);
    const bool declared =
        index < spec.count_classes.size() && spec.count_classes[index].unit == plan::CountUnit::micro_batch;
    if (!declared && (!term.facts.known || term.facts.decomposes)) continue;
    for (const std::string& metric : evaluation.evaluation.metrics) {
      if (metric != "loss" && metric != term.term.name) continue;
      engine
          .report(Code::L904, evaluation.metrics_span,
                  {evaluation.evaluation.name, "`" + term.term.name + "`"})
          .also(term.span, "no sum over units")
          .help("compare runs with the same `micro_batch` only, or measure a term that is counted");
      return;
    }
  }
}

/// What a recomputed block does beside its outputs, it does twice.
void check_recompute(const sema::Spec& spec, diagnostics::Engine& engine) {
  const sema::ModelFacts& model = spec.model.facts;
  if (!model.recompute || !model.batch_norm || spec.batch_norm.value == plan::BatchNorm::frozen) return;
  engine.report(Code::L905, spec.model.span)
      .help("`batch_norm = frozen` keeps the statistics still; or leave out `recompute`");
}

}  // namespace

void check_data(const sema::Spec& spec, diagnostics::Engine& engine) {
  check_recompute(spec, engine);
  const sema::SourceUse* source = train_source(spec);
  if (source && source->facts.split_by_file && spec.ranks.value != 1 && !spec.data.uneven.written) {
    engine.report(Code::L901, source->name_span, {source->source.name})
        .help("uneven = drop: the surplus of the longer ranks is not trained on")
        .help("uneven = pad_empty: the shorter ranks run empty micro-batches; no sample is lost")
        .help("uneven = error: keep it so, and say so");
  }
  for (const sema::Evaluation& evaluation : spec.evaluations) {
    check_metrics(spec, evaluation, engine);
    if (source && evaluation.evaluation.source == source->source.name) {
      engine.report(Code::L903, evaluation.span, {evaluation.evaluation.name, source->source.name})
          .help("name a source that is held out");
    }
  }
}

}  // namespace loop::check
