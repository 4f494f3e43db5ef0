// `micro_batch = auto`: the largest micro-batch whose training step fits into `memory`.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/engine/parts.h"
#include "runtime/telemetry/record.h"

namespace loop::engine {

/// One size that was run.
struct SizeTrial {
  int64_t samples = 0;
  int64_t step_bytes = 0;
};

struct LargestFit {
  SizeTrial chosen;
  std::optional<SizeTrial> larger;  // the smallest size that was found not to fit; nothing: `most` fits
  std::vector<SizeTrial> trials;    // in the order in which they were run
};

/// The largest size from 1 to `most` whose step takes at most `budget_bytes`: doubled until one does not fit,
/// then bisected, so that no size beyond twice the answer is run. Nothing when 1 does not fit: `trials` has
/// it then.
LargestFit largest_fit(int64_t most, double budget_bytes,
                       const std::function<int64_t(int64_t samples)>& step_bytes);

/// The run has a `micro_batch = auto` that nobody has decided yet.
bool micro_batch_is_open(const plan::Plan& plan);

/// Decides it, in `parts.plan` and `parts.former`. A micro-batch of n samples is tried with the n longest
/// samples of the training source; larger than the largest window is never chosen. All ranks take the
/// smallest of what they found. `records`: files in which earlier runs have kept their choice, newest first;
/// rank 0 takes the first that was made for the same model, data, budget and code, and nothing is measured
/// then. Collective. Throws loop::Error (findings) when a single sample does not fit, and for windows and
/// losses whose objective depends on the micro-batch.
telemetry::MicroBatchChoice decide_micro_batch(Parts& parts,
                                               const std::vector<std::filesystem::path>& records = {});

/// What a choice depends on: a hash of the parts of the plan that a training step executes, of the model's
/// parameters, of the data's lengths, of the number of ranks and threads, and of this executable.
std::string choice_key(const Parts& parts);

/// choice.json: the choice with its key, the window and its N. Throws loop::Error (usage) when it cannot be
/// written.
void write_choice(const std::filesystem::path& file, const Parts& parts,
                  const telemetry::MicroBatchChoice& choice);

}  // namespace loop::engine
