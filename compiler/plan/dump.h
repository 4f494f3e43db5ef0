// The plan for a person: `loopc plan`.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "runtime/plan/buckets.h"
#include "runtime/plan/plan.h"

namespace loop::planner {

/// What is known only when data and model have been looked at (`loopc plan --data` asks the runtime).
struct DataFacts {
  int64_t train_samples = 0;
  int64_t tokens_per_epoch = 0;  // counted ones
  int64_t micro_batches_per_epoch = 0;
  int64_t updates_per_epoch = 0;
  int64_t lost_samples_per_epoch = 0;  // under tail = drop or short = drop
  int64_t planned_updates = 0;         // the horizon; 0 when unbounded
  int64_t parameters = 0;
  int64_t trainable_parameters = 0;
  std::vector<std::vector<plan::SlotSize>> groups;  // trainable parameters as they lie in the gradient arenas
  int64_t micro_batch_samples = 0;  // given, or what `micro_batch = auto` takes on this machine
  std::vector<std::string> notes;   // sentences on memory
};

/// Parameters by the model's descriptor, if it is known; -1 entries in a shape make the sum a lower bound.
struct ModelSize {
  int64_t parameters = 0;
  bool lower_bound = false;
};

void dump(std::ostream& out, const plan::Plan& plan, const std::optional<ModelSize>& model_size,
          const std::optional<DataFacts>& data_facts);

}  // namespace loop::planner
