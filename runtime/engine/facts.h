// What is known of a plan only when its data and model have been looked at: `loopc plan --data` asks for it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/plan/plan.h"

namespace loop::engine {

/// {"train_samples", "tokens_per_epoch", "micro_batches_per_epoch", "updates_per_epoch",
/// "lost_samples_per_epoch", "planned_updates" (0: unbounded), "parameters", "trainable_parameters", "groups"
/// (trainable parameters as they lie in the gradient arenas: [elements, fed by several tensors] each),
/// "micro_batch_samples" (what `micro_batch = auto` chooses, where the spec gives no number),
/// "notes" (sentences on memory: what `micro_batch = auto` chooses, what a model's `recompute` saves)}.
/// Counts of an epoch are those of the first one; micro-batches are per rank. Throws loop::Error as a run
/// would for data and model that do not fit.
nlohmann::ordered_json facts(const plan::Plan& plan, const std::filesystem::path& data_dir);

}  // namespace loop::engine
