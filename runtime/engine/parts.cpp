#include "runtime/engine/parts.h"

#include <set>

#include "loop/error.h"
#include "runtime/engine/random.h"

namespace loop::engine {

namespace {

torch::Dtype dtype_of(const plan::Plan& plan) {
  return plan.dtype == plan::Dtype::fp64 ? torch::kFloat64 : torch::kFloat32;
}

int64_t context_of(const plan::Component& model) {
  const auto found = model.args.find("context");
  return found != model.args.end() && found->is_number() ? found->get<int64_t>() : 0;
}

data::WindowFormerOptions former_options(const plan::Plan& plan, const Source& train) {
  data::WindowFormerOptions options;
  options.size_samples = train.size();
  options.seed = plan.seed;
  options.order = plan.data.order;
  options.micro_batch_samples = plan.data.micro_batch_samples;
  options.short_policy = plan.data.short_policy;
  options.window = plan.window.size;
  options.tail = plan.window.tail.value_or(plan::Tail::flush);
  options.ranks = plan.ranks.value_or(1);
  options.tokens = [&train, ignore = ignored_target(plan)](int64_t sample) {
    return train.counted(sample, ignore);
  };
  options.positions = [&train](int64_t sample) { return train.positions(sample); };
  return options;
}

}  // namespace

Sources make_sources(const plan::Plan& plan, const std::filesystem::path& data_dir) {
  std::set<std::string> used = {plan.data.train};
  for (const plan::Evaluation& evaluation : plan.evaluations) used.insert(evaluation.source);
  SourceContext context;
  context.base_dir = data_dir.empty() ? std::filesystem::path(plan.base_dir) : data_dir;
  context.dtype = dtype_of(plan);
  context.context = context_of(plan.model);
  const auto make = [&](const std::string& name) {
    for (const plan::Source& source : plan.data.sources) {
      if (source.name == name) return make_source(source.component, context);
    }
    throw Error(ErrorKind::findings, "there is no data source named '" + name + "'", "add it to `data`");
  };
  Sources sources;
  sources[plan.data.train] = make(plan.data.train);
  context.vocabulary_of = sources.at(plan.data.train).get();
  for (const std::string& name : used) {
    if (name != plan.data.train) sources[name] = make(name);
  }
  return sources;
}

Parts assemble(plan::Plan plan, Sources sources) {
  Parts parts;
  parts.plan = std::move(plan);
  parts.sources = std::move(sources);
  start_stream(parts.plan.seed, Stream::initialisation, 0);
  parts.model = make_model(parts.plan.model, parts.train().info());
  parts.parameters =
      std::make_unique<gradients::Parameters>(parts.model, parts.plan.groups, dtype_of(parts.plan));
  parts.objective = std::make_unique<Objective>(parts.plan.terms, parts.plan.count_classes);
  parts.former = former_options(parts.plan, parts.train());
  return parts;
}

std::optional<int64_t> ignored_target(const plan::Plan& plan) {
  for (const plan::CountClass& one : plan.count_classes) {
    if (one.unit == plan::CountUnit::tokens) return one.ignore;
  }
  return plan.count_classes.empty() ? std::nullopt : plan.count_classes.front().ignore;
}

std::string to_text(const plan::WindowSize& size) {
  const std::string value = std::to_string(size.value) + " " + plan::name(size.unit);
  return size.ramp ? std::to_string(size.ramp->from) + " -> " + value : value;
}

}  // namespace loop::engine
