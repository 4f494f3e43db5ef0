// What a run on many ranks exchanges and holds: `loopc plan --ranks`.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "compiler/sema/spec.h"
#include "runtime/plan/buckets.h"
#include "runtime/plan/plan.h"

namespace loop::planner {

/// The model's parameters as they lie in the gradient arenas.
struct ModelSlots {
  std::vector<std::vector<plan::SlotSize>> groups;  // trainable ones
  int64_t parameters = 0;                           // frozen ones included
};

/// What the model's descriptor says; nothing when a size depends on the data (`unknown`: which) or the model
/// has no descriptor.
std::optional<ModelSlots> described_slots(const sema::Spec& spec, std::string& unknown);

/// Per rank and full window. Bytes are those of the tensors given to the collectives.
struct Prediction {
  int64_t ranks = 1;
  std::optional<int64_t> micro_batches;  // K; nothing when it depends on the data (tokens, positions)
  std::string unknown;                   // why the numbers below that rest on the model are missing
  bool at_most = false;                  // operations under `when` are taken to run

  int64_t bucket_limit = plan::kBucketBytes;  // the largest bucket
  std::vector<int64_t> bucket_bytes;          // in the order of their launch
  int64_t reductions_once = 0;                // reductions of the gradient once per window …
  int64_t reductions_per_micro_batch = 0;     // … and with every micro-batch
  std::optional<int64_t> small_vector_bytes;  // counts, touched bits, losses, flags
  int64_t counts_ahead_bytes = 0;             // 0: counts are not needed before the first forward
  bool agrees_on_finite = false;              // the gradient is never reduced: one flag more

  std::optional<int64_t> parameter_bytes;
  std::optional<int64_t> gradient_bytes;
  int64_t copy_bytes = 0;             // rounded copies of the buckets; 0: buckets are slices of the gradients
  std::optional<int64_t> kept_bytes;  // earlier micro-batches' sum under `sync = every`
  std::optional<int64_t> state_bytes;  // nothing for an update rule of the user's; the most of several rules
  std::optional<int64_t> average_bytes;

  /// Nothing when K or the model is not known.
  std::optional<int64_t> collectives() const;
  std::optional<int64_t> reduced_bytes() const;
};

/// `slots`: nothing when unknown, then `unknown` says why. `bucket_limit`: the largest bucket, in bytes.
Prediction predict(const plan::Plan& plan, int64_t ranks, const std::optional<ModelSlots>& slots,
                   const std::string& unknown, int64_t bucket_limit = plan::kBucketBytes);

void dump_prediction(std::ostream& out, const Prediction& prediction);
/// Unknown numbers are null.
nlohmann::ordered_json to_json(const Prediction& prediction);

}  // namespace loop::planner
