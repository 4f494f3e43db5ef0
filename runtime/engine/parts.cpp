#include "runtime/engine/parts.h"

#include <set>

#include "loop/error.h"
#include "runtime/distributed/replicas.h"
#include "runtime/engine/random.h"
#include "runtime/plan/json.h"

namespace loop::engine {

namespace {

torch::Dtype dtype_of(const plan::Plan& plan) {
  return plan.dtype == plan::Dtype::fp64 ? torch::kFloat64 : torch::kFloat32;
}

int64_t context_of(const plan::Component& model) {
  const auto found = model.args.find("context");
  return found != model.args.end() && found->is_number() ? found->get<int64_t>() : 0;
}

data::WindowFormerOptions former_options(const plan::Plan& plan, const Source& train,
                                         const distributed::Communicator& ranks) {
  data::WindowFormerOptions options;
  options.size_samples = train.size();
  options.seed = plan.seed;
  options.order = plan.data.order;
  options.micro_batch_samples = plan.data.micro_batch_samples;
  options.short_policy = plan.data.short_policy;
  options.window = plan.window.size;
  options.tail = plan.window.tail.value_or(plan::Tail::flush);
  // One process that looks at a plan for several ranks counts as they would.
  options.ranks = ranks.size() > 1 ? ranks.size() : plan.ranks.value_or(1);
  options.rank = ranks.rank();
  options.tokens = [&train, ignore = ignored_target(plan)](int64_t sample) {
    return train.counted(sample, ignore);
  };
  options.positions = [&train](int64_t sample) { return train.positions(sample); };
  return options;
}

/// Ranks that train different things would not notice: their gradients may well have the same size.
void require_same_start(const Parts& parts) {
  plan::Plan plan = parts.plan;
  plan.base_dir.clear();  // machines may keep the spec in different folders
  plan.spec_files.clear();
  const std::hash<std::string> hash;
  distributed::require_equal(*parts.ranks, hash(plan::plan_hash(plan)), "the plan",
                             "start every rank with the same spec and the same --set");
  distributed::require_equal(*parts.ranks, static_cast<uint64_t>(parts.train().size()),
                             "the size of the training source", "give every rank the same data");
  distributed::require_equal(*parts.ranks, static_cast<uint64_t>(parts.parameters->trainable_elements()),
                             "the number of trainable parameters",
                             "give every rank the same data and the same build of the model");
  std::vector<distributed::NamedTensor> tensors;
  for (const auto& group : parts.parameters->groups())
    tensors.push_back({"group " + group.name, group.parameters});
  for (const auto& item : parts.model->named_parameters()) {
    const bool frozen = item.value().defined() && !item.value().requires_grad();
    if (frozen) tensors.push_back({item.key(), item.value()});
  }
  for (const auto& item : parts.model->named_buffers()) {
    if (item.value().defined()) tensors.push_back({item.key(), item.value()});
  }
  distributed::share_from_first(*parts.ranks, tensors);
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

Parts assemble(plan::Plan plan, Sources sources, std::shared_ptr<distributed::Communicator> ranks,
               plan::RuleCompiler compile_rule) {
  Parts parts;
  parts.compile_rule = std::move(compile_rule);
  parts.ranks = std::move(ranks);
  parts.plan = std::move(plan);
  parts.sources = std::move(sources);
  start_stream(parts.plan.seed, Stream::initialisation, 0);
  parts.model = make_model(parts.plan.model, parts.train().info());
  parts.parameters =
      std::make_unique<gradients::Parameters>(parts.model, parts.plan.groups, dtype_of(parts.plan));
  parts.objective =
      std::make_unique<Objective>(parts.plan.terms, parts.plan.count_classes, parts.ranks->size());
  parts.former = former_options(parts.plan, parts.train(), *parts.ranks);
  require_same_start(parts);
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
