// `loopc plan`
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "compiler/diagnostics/render.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/process.h"
#include "compiler/driver/runtime_command.h"
#include "compiler/driver/spec_options.h"
#include "compiler/driver/subcommands.h"
#include "compiler/plan/dump.h"
#include "compiler/plan/prediction.h"
#include "runtime/plan/json.h"

namespace loop::driver {
namespace {

constexpr std::chrono::minutes kLookLimit{10};  // reading a large corpus takes a while

struct PlanOptions {
  SpecRequest request;
  bool json = false;
  std::optional<int64_t> ranks;  // predict for so many
};

/// Sizes as far as the model's descriptor knows them; nothing for a model without descriptor.
std::optional<planner::ModelSize> model_size(const sema::Spec& spec) {
  if (!spec.model.facts.known) return std::nullopt;
  planner::ModelSize size;
  for (const sema::ParameterInfo& parameter : spec.model.facts.parameters) {
    int64_t elements = 1;
    for (const int64_t extent : parameter.shape) {
      size.lower_bound = size.lower_bound || extent < 0;
      elements *= extent < 0 ? 1 : extent;
    }
    size.parameters += elements;
  }
  return size;
}

/// The sizes of trainable parameters in the runtime's answer.
std::vector<std::vector<plan::SlotSize>> slots_of(const nlohmann::json& facts) {
  std::vector<std::vector<plan::SlotSize>> groups;
  try {
    for (const nlohmann::json& group : facts.at("groups")) {
      groups.emplace_back();
      for (const nlohmann::json& slot : group)
        groups.back().push_back({slot.at(0).get<int64_t>(), slot.at(1).get<bool>()});
    }
  } catch (const nlohmann::json::exception&) {
    throw InstallationError("the runtime's answer about the model cannot be read; is it of this build?");
  }
  return groups;
}

/// Asks the runtime what it finds in the data, for so many ranks. Throws UsageError with what it says is
/// wrong.
planner::DataFacts data_facts(plan::Plan plan, std::optional<int64_t> ranks) {
  if (ranks) plan.ranks = ranks;
  const Answer answer = ask(facts_command(require_looprun()), kLookLimit, plan::to_json(plan).dump());
  if (answer.timed_out) throw UsageError("the data could not be looked at within ten minutes");
  if (!answer.good()) {
    const size_t end = answer.errors.find_last_not_of('\n');
    throw UsageError("the data cannot be looked at: " + (end == std::string::npos
                                                             ? "the runtime gave no reason"
                                                             : answer.errors.substr(0, end + 1)));
  }
  const auto facts = nlohmann::json::parse(answer.output, nullptr, false);
  if (!facts.is_object())
    throw InstallationError("the runtime's answer about the data cannot be read; is it of this build?");
  planner::DataFacts found;
  const auto read = [&](const char* key, int64_t& value) {
    const auto at = facts.find(key);
    if (at != facts.end() && at->is_number()) value = at->get<int64_t>();
  };
  read("train_samples", found.train_samples);
  read("tokens_per_epoch", found.tokens_per_epoch);
  read("micro_batches_per_epoch", found.micro_batches_per_epoch);
  read("updates_per_epoch", found.updates_per_epoch);
  read("lost_samples_per_epoch", found.lost_samples_per_epoch);
  read("planned_updates", found.planned_updates);
  read("parameters", found.parameters);
  read("trainable_parameters", found.trainable_parameters);
  read("micro_batch_samples", found.micro_batch_samples);
  if (const auto notes = facts.find("notes"); notes != facts.end())
    for (const auto& note : *notes)
      if (note.is_string()) found.notes.push_back(note.get<std::string>());
  found.groups = slots_of(facts);
  return found;
}

/// The largest bucket, as the runs of this environment would have it.
int64_t bucket_limit() {
  const char* value = std::getenv(plan::kBucketBytesVariable);
  if (!value || !*value) return plan::kBucketBytes;
  if (const auto bytes = plan::bucket_bytes_of(value)) return *bytes;
  throw UsageError(std::string(plan::kBucketBytesVariable) + " is '" + value +
                   "'; give a positive whole number of bytes");
}

planner::Prediction prediction_for(int64_t ranks, const plan::Plan& plan, const sema::Spec& spec,
                                   const std::optional<planner::DataFacts>& facts) {
  std::string unknown;
  if (facts)
    return planner::predict(plan, ranks, planner::ModelSlots{facts->groups, facts->parameters}, unknown,
                            bucket_limit());
  const std::optional<planner::ModelSlots> slots = planner::described_slots(spec, unknown);
  return planner::predict(plan, ranks, slots, unknown, bucket_limit());
}

int show_plan(const PlanOptions& options, Context& context) {
  Compilation compilation;
  const std::vector<sema::Spec> specs = check_spec(compilation, options.request, context.in);
  diagnostics::render_text(context.err, compilation.sources, compilation.engine.diagnostics(),
                           {.color = context.color_err});
  if (compilation.engine.has_errors()) return kFindings;
  const sema::Spec& spec = only_loop(specs, options.request);
  const plan::Plan plan = lower_spec(compilation, spec, options.request);
  if (options.ranks && plan.ranks && *options.ranks != *plan.ranks)
    throw UsageError("the spec says `ranks = " + std::to_string(*plan.ranks) + "`, but --ranks says " +
                     std::to_string(*options.ranks));
  std::optional<planner::DataFacts> facts;
  const bool facts_are_shown = !options.json || options.ranks;
  if (options.request.look_for_data && facts_are_shown) facts = data_facts(plan, options.ranks);
  std::optional<planner::Prediction> prediction;
  plan::Plan decided = plan;  // with the micro-batch that a run would choose
  if (facts) decided.data.micro_batch_samples = facts->micro_batch_samples;
  if (options.ranks) prediction = prediction_for(*options.ranks, decided, spec, facts);
  if (options.json) {
    nlohmann::ordered_json json = plan::to_json(plan);
    if (prediction) json = {{"plan", std::move(json)}, {"prediction", planner::to_json(*prediction)}};
    context.out << json.dump(2) << '\n';
    return kDone;
  }
  planner::dump(context.out, plan, model_size(spec), facts);
  if (prediction) planner::dump_prediction(context.out, *prediction);
  return kDone;
}

}  // namespace

Action add_plan(CLI::App& app, Context& context) {
  auto options = std::make_shared<PlanOptions>();
  add_loop_options(app, options->request);
  app.add_flag("--json", options->json, "The plan as the runtime reads it; with --ranks also the prediction");
  app.add_option("--ranks", options->ranks, "Predict collectives, bytes and memory for N ranks")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  app.add_flag("--data", options->request.look_for_data, "Read data and model too, and show their counts");
  return [options, &context] { return show_plan(*options, context); };
}

}  // namespace loop::driver
