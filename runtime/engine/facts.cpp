#include "runtime/engine/facts.h"

#include "runtime/engine/horizon.h"
#include "runtime/engine/micro_batch_choice.h"
#include "runtime/engine/parts.h"
#include "runtime/engine/step_memory.h"
#include "runtime/gradients/slot_sizes.h"
#include "runtime/telemetry/readable.h"

namespace loop::engine {

namespace {

struct Epoch {
  int64_t micro_batches = 0;
  int64_t updates = 0;
  int64_t lost_samples = 0;
};

/// The first epoch; an unfinished window under carry counts with its micro-batches, not as an update.
Epoch first_epoch(const data::WindowFormerOptions& options) {
  data::WindowFormer former(options);
  Epoch epoch;
  for (;;) {
    const auto next = former.next_until(1, 0);
    epoch.micro_batches += static_cast<int64_t>(next.window.micro.size());
    if (!next.complete) break;
    ++epoch.updates;
  }
  epoch.lost_samples = former.lost_samples();
  return epoch;
}

bool recomputes(const plan::Plan& plan) {
  const auto found = plan.model.args.find("recompute");
  return found != plan.model.args.end() && *found != "none" && repeatable(plan.micro);
}

/// The same step with the model's activations kept.
std::string what_recomputing_saves(Parts& parts) {
  const int64_t samples = parts.plan.data.micro_batch_samples;
  const auto step_bytes = [samples](Parts& one) {
    return static_cast<double>(StepMemory(one).step_bytes(samples));
  };
  plan::Plan keeping = parts.plan;
  keeping.model.args["recompute"] = "none";
  const double with = step_bytes(parts);
  Parts others = assemble(keeping, std::move(parts.sources));  // data that is read once serves both
  const double without = step_bytes(others);
  parts.sources = std::move(others.sources);
  return "recompute: a step with " + std::to_string(samples) + " samples takes " +
         telemetry::readable_bytes(with) + " instead of " + telemetry::readable_bytes(without) +
         (with < without ? ", " + telemetry::readable_bytes(without - with) + " less" : "");
}

}  // namespace

nlohmann::ordered_json facts(const plan::Plan& plan, const std::filesystem::path& data_dir) {
  Parts parts = assemble(plan, make_sources(plan, data_dir));
  std::vector<std::string> notes;
  if (micro_batch_is_open(plan)) notes.push_back("micro_batch = auto: " + decide_micro_batch(parts).reason);
  if (recomputes(plan)) notes.push_back(what_recomputing_saves(parts));
  int64_t tokens = 0;
  for (int64_t sample = 0; sample < parts.train().size(); ++sample) tokens += parts.former.tokens(sample);
  const Epoch epoch = first_epoch(parts.former);
  nlohmann::ordered_json groups = nlohmann::ordered_json::array();
  for (const auto& slots : gradients::slot_sizes(parts.parameters->groups())) {
    groups.push_back(nlohmann::ordered_json::array());
    for (const plan::SlotSize& slot : slots) groups.back().push_back({slot.elements, slot.shared});
  }
  const int64_t trainable = parts.parameters->trainable_elements();
  return {{"train_samples", parts.train().size()},
          {"tokens_per_epoch", tokens},
          {"micro_batches_per_epoch", epoch.micro_batches},
          {"updates_per_epoch", epoch.updates},
          {"lost_samples_per_epoch", epoch.lost_samples},
          {"planned_updates", planned_updates(plan, parts.former).value_or(0)},
          {"parameters", trainable + parts.parameters->frozen_elements()},
          {"trainable_parameters", trainable},
          {"groups", groups},
          {"micro_batch_samples", parts.plan.data.micro_batch_samples},
          {"notes", notes}};
}

}  // namespace loop::engine
