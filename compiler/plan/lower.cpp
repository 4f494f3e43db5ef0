// before: a Spec, its operations with spans            after: a Plan, its operations with file:line:column
#include "compiler/plan/lower.h"

#include <filesystem>

#include "compiler/plan/update_rule.h"

namespace loop::planner {
namespace {

class Lowering {
 public:
  explicit Lowering(const base::SourceManager& sources) : sources_(sources) {}

  plan::Place place(base::Span span) const {
    if (!span || !sources_.contains(span.file)) return {};
    const base::SourceFile& file = sources_.file(span.file);
    const base::Position position = file.position(span.begin);
    return {file.path(), position.line, position.column};
  }

  std::vector<plan::Operation> operations(const std::vector<sema::Operation>& written) const {
    std::vector<plan::Operation> lowered;
    for (const sema::Operation& operation : written) {
      plan::Operation result = operation.op;
      result.body = operations(operation.body);
      result.place = place(operation.name_span ? operation.name_span : operation.span);
      lowered.push_back(std::move(result));
    }
    return lowered;
  }

 private:
  const base::SourceManager& sources_;
};

std::string absolute_folder(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(folder.empty() ? "." : folder, error);
  return error ? folder : absolute.lexically_normal().string();
}

}  // namespace

plan::Plan lower(const sema::Spec& spec, const base::SourceManager& sources) {
  const Lowering lowering(sources);
  plan::Plan plan;
  plan.loop_name = spec.name;
  plan.base_dir = absolute_folder(spec.base_dir);
  plan.spec_files = spec.spec_files;
  plan.overrides = spec.overrides;
  plan.resolved_spec = spec.resolved_text;

  plan.seed = spec.seed.value;
  plan.device = spec.device.value;
  plan.ranks = spec.ranks.value;
  plan.dtype = spec.dtype.value;
  plan.accumulate = spec.accumulate.value;
  plan.memory_bytes = spec.memory_bytes.value;
  plan.model = spec.model.component;
  plan.init_weights = spec.init_weights.value;
  plan.batch_norm = spec.batch_norm.value;

  for (const sema::SourceUse& source : spec.data.sources) plan.data.sources.push_back(source.source);
  if (spec.data.train >= 0) plan.data.train = spec.data.sources.at(spec.data.train).source.name;
  plan.data.micro_batch_samples = spec.data.micro_batch_samples.value;
  plan.data.micro_batch_auto = spec.data.micro_batch_auto;
  plan.data.order = spec.data.order.value;
  plan.data.short_policy = spec.data.short_policy.value;
  plan.data.uneven = spec.data.uneven.value;

  for (const sema::Group& group : spec.groups) {
    plan.groups.push_back(group.group);
    plan.groups.back().place = lowering.place(group.span);
  }
  plan.count_classes = spec.count_classes;
  for (const sema::LossTerm& term : spec.terms) {
    plan.terms.push_back(term.term);
    plan.terms.back().place = lowering.place(term.span);
  }
  plan.amp = spec.amp.value;
  plan.window.size = spec.window.size.value;
  plan.window.sync = spec.window.sync.value;
  plan.window.reduce = spec.window.reduce.value;
  plan.window.tail = spec.window.tail.value;
  plan.window.empty = spec.window.empty.value;
  plan.window.oom = spec.window.oom.value;
  plan.window.compress = spec.window.compress.value;
  plan.nonfinite = spec.nonfinite.value;

  plan.micro = lowering.operations(spec.micro.operations);
  plan.update = lowering.operations(spec.update.operations);
  for (const sema::RuleDefinition& rule : spec.rules) plan.rules.push_back(update_rule(rule));
  plan.canonical_micro = !spec.micro.written;
  plan.canonical_update = !spec.update.written || spec.update.completed;

  for (const sema::Average& average : spec.averages) plan.averages.push_back(average.average);
  for (const sema::StopCondition& stop : spec.stop) {
    plan.stop.push_back(stop.condition);
    plan.stop.back().place = lowering.place(stop.span);
  }
  for (const sema::Evaluation& evaluation : spec.evaluations)
    plan.evaluations.push_back(evaluation.evaluation);
  plan.checkpoint = spec.checkpoint.value;
  plan.resume = spec.resume.value;
  plan.log = spec.log.value;
  plan.check_replicas_updates = spec.check_replicas_updates.value;
  return plan;
}

}  // namespace loop::planner
