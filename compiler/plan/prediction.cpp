#include "compiler/plan/prediction.h"

#include <algorithm>
#include <numeric>

#include "compiler/base/arithmetic.h"
#include "compiler/plan/dump_parts.h"
#include "compiler/sema/groups.h"
#include "runtime/plan/counts_ahead.h"

namespace loop::planner {
namespace {

constexpr int64_t kNumberBytes = 8;   // counts, bits and flags travel as FP64
constexpr int64_t kRoundedBytes = 2;  // a gradient under `compress = bf16`

int64_t sum(const std::vector<int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), int64_t{0});
}

/// Micro-batches of one rank in a full window; a ramp is at its end.
std::optional<int64_t> micro_batches(const plan::Plan& plan, int64_t ranks) {
  const plan::WindowSize& size = plan.window.size;
  if (size.unit == plan::WindowSize::Unit::micro_batches) return size.value;
  if (size.unit != plan::WindowSize::Unit::samples || plan.data.micro_batch_samples == 0) return std::nullopt;
  return std::max<int64_t>(
      1, base::divided_up(base::divided_up(size.value, ranks), plan.data.micro_batch_samples));
}

/// Counts the reductions that the backward passes (or, under `sync = manual`, the `reduce` operations) start.
class Reductions {
 public:
  Reductions(const plan::Plan& plan, Prediction& into) : plan_(plan), into_(into) {
    walk(plan.micro, {}, true, false);
    walk(plan.update, {}, false, false);
  }

 private:
  void walk(const std::vector<plan::Operation>& operations, std::optional<plan::SyncOn> scope, bool micro,
            bool conditional) {
    const bool manual = plan_.window.sync == plan::Sync::manual;
    for (const plan::Operation& operation : operations) {
      const bool when = conditional || operation.kind == plan::OpKind::when;
      if (operation.kind == plan::OpKind::sync_on) {
        walk(operation.body, operation.sync_on, micro, when);
        continue;
      }
      const bool reduces = operation.kind == (manual ? plan::OpKind::reduce : plan::OpKind::backward) &&
                           (manual || scope != plan::SyncOn::none);
      if (reduces) {
        const bool once = manual ? !micro : scope && scope != plan::SyncOn::every;
        ++(once ? into_.reductions_once : into_.reductions_per_micro_batch);
        into_.at_most = into_.at_most || when;
      }
      walk(operation.body, scope, micro, when);
    }
  }

  const plan::Plan& plan_;
  Prediction& into_;
};

}  // namespace

std::optional<ModelSlots> described_slots(const sema::Spec& spec, std::string& unknown) {
  if (!spec.model.facts.known) {
    unknown = "the model is the user's own; --data builds it and counts";
    return std::nullopt;
  }
  ModelSlots slots;
  std::vector<std::vector<plan::SlotSize>> groups(spec.groups.size());
  for (const sema::ParameterInfo& parameter : spec.model.facts.parameters) {
    int64_t elements = 1;
    for (const int64_t extent : parameter.shape) {
      if (extent < 0) {
        unknown =
            "the size of " + parameter.name + " depends on the data; --data builds the model and counts";
        return std::nullopt;
      }
      elements *= extent;
    }
    slots.parameters += elements;
    size_t home = groups.size();
    for (size_t g = 0; g < groups.size(); ++g) {
      const plan::Predicate& predicate = spec.groups[g].group.predicate;
      const bool others = predicate.kind == plan::Predicate::Kind::others;
      if (others ? home == groups.size() : sema::matches(predicate, parameter)) home = g;
    }
    if (home < groups.size()) groups[home].push_back({elements, false});
  }
  for (size_t g = 0; g < groups.size(); ++g)
    if (!spec.groups[g].group.frozen) slots.groups.push_back(std::move(groups[g]));
  return slots;
}

std::optional<int64_t> Prediction::collectives() const {
  if (ranks == 1) return 0;
  if (!small_vector_bytes || (reductions_per_micro_batch > 0 && !micro_batches)) return std::nullopt;
  const int64_t reductions = reductions_once + reductions_per_micro_batch * micro_batches.value_or(0);
  return reductions * static_cast<int64_t>(bucket_bytes.size()) + 1 + (counts_ahead_bytes > 0) +
         agrees_on_finite;
}

std::optional<int64_t> Prediction::reduced_bytes() const {
  if (ranks == 1) return 0;
  if (!collectives()) return std::nullopt;
  const int64_t reductions = reductions_once + reductions_per_micro_batch * micro_batches.value_or(0);
  return reductions * sum(bucket_bytes) + *small_vector_bytes + counts_ahead_bytes +
         agrees_on_finite * kNumberBytes;
}

Prediction predict(const plan::Plan& plan, int64_t ranks, const std::optional<ModelSlots>& slots,
                   const std::string& unknown, int64_t bucket_limit) {
  Prediction result;
  result.bucket_limit = bucket_limit;
  result.ranks = ranks;
  result.micro_batches = micro_batches(plan, ranks);
  result.unknown = unknown;
  Reductions(plan, result);
  result.agrees_on_finite = result.reductions_once + result.reductions_per_micro_batch == 0;
  const auto classes = static_cast<int64_t>(plan.count_classes.size());
  if (plan::needs_counts_ahead(plan.micro)) result.counts_ahead_bytes = classes * kNumberBytes;
  if (!slots) return result;
  const auto width = static_cast<int64_t>(bytes_per_number(plan.dtype));
  const bool rounded = plan.window.compress == plan::Compression::bf16;
  const int64_t wire_width = rounded ? kRoundedBytes : width;
  int64_t gradients = 0;
  for (const plan::BucketShape& bucket : plan::make_buckets(slots->groups, width, bucket_limit)) {
    result.bucket_bytes.push_back(bucket.size * wire_width);
    gradients += bucket.size * width;
  }
  int64_t touched_bits = 0;
  for (const auto& group : slots->groups) touched_bits += static_cast<int64_t>(group.size());
  constexpr int64_t kFlags = 2;  // interrupted, and rank 0's seconds
  result.small_vector_bytes =
      (classes + touched_bits + static_cast<int64_t>(plan.terms.size()) + kFlags) * kNumberBytes;
  result.copy_bytes = rounded && ranks > 1 ? sum(result.bucket_bytes) : 0;
  result.parameter_bytes = slots->parameters * width;
  result.gradient_bytes = gradients;
  const bool keeps = ranks > 1 && plan.canonical_micro && plan.window.sync == plan::Sync::every;
  result.kept_bytes = keeps ? gradients : 0;
  const StateCount states = states_per_parameter(plan);
  if (states.known) result.state_bytes = static_cast<int64_t>(states.most) * gradients;
  result.average_bytes = static_cast<int64_t>(plan.averages.size()) * slots->parameters * width;
  return result;
}

}  // namespace loop::planner
