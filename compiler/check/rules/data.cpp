// Data that ranks share unevenly, and evaluations that measure the wrong thing.
#include "compiler/check/rules/rules.h"

namespace loop::check {

void check_data(const sema::Spec& spec, diagnostics::Engine& engine) {
  using diagnostics::Code;
  const sema::SourceUse* source = train_source(spec);
  if (source && source->facts.split_by_file && spec.ranks.value != 1 && !spec.data.uneven.written) {
    engine.report(Code::L901, source->name_span, {source->source.name})
        .help("uneven = drop: the surplus of the longer ranks is not trained on")
        .help("uneven = pad_empty: the shorter ranks run empty micro-batches; no sample is lost")
        .help("uneven = error: keep it so, and say so");
  }
  for (const sema::Evaluation& evaluation : spec.evaluations) {
    if (source && evaluation.evaluation.source == source->source.name) {
      engine.report(Code::L903, evaluation.span, {evaluation.evaluation.name, source->source.name})
          .help("name a source that is held out");
    }
  }
}

}  // namespace loop::check
