#include "runtime/engine/step_memory.h"

#include <algorithm>
#include <numeric>

#include "loop/allocation_meter.h"
#include "loop/error.h"
#include "runtime/data/prefetch.h"

namespace loop::engine {

namespace {

int64_t bytes(const torch::Tensor& tensor) {
  return tensor.defined() ? static_cast<int64_t>(tensor.nbytes()) : 0;
}

/// All samples; equally long ones in the order of the source.
std::vector<int64_t> longest_first(const Parts& parts) {
  std::vector<int64_t> samples(static_cast<size_t>(parts.train().size()));
  std::iota(samples.begin(), samples.end(), 0);
  const auto longer = [&](int64_t a, int64_t b) {
    return parts.former.positions(a) > parts.former.positions(b);
  };
  if (!std::is_sorted(samples.begin(), samples.end(), longer))
    std::stable_sort(samples.begin(), samples.end(), longer);
  return samples;
}

Averages make_averages(Parts& parts, int64_t& taken) {
  const AllocationMeter meter;
  Averages averages(parts.plan.averages, *parts.model, *parts.parameters);
  taken += meter.held_bytes();
  return averages;
}

int64_t resident_bytes(const Parts& parts) {
  int64_t total = 0;
  const bool several = std::max(parts.ranks->size(), parts.plan.ranks.value_or(1)) > 1;
  for (const gradients::ParameterGroup& group : parts.parameters->groups()) {
    total += bytes(group.parameters) + bytes(group.gradients);
    const bool kept_twice =
        several && parts.plan.canonical_micro && parts.plan.window.sync == plan::Sync::every;
    if (kept_twice) total += bytes(group.gradients);
    for (const torch::Tensor& state : group.states) total += bytes(state);
  }
  for (const torch::Tensor& parameter : parts.model->parameters())
    if (!parameter.requires_grad()) total += bytes(parameter);
  for (const torch::Tensor& buffer : parts.model->buffers()) total += bytes(buffer);
  return total;
}

}  // namespace

StepMemory::StepMemory(Parts& parts)
    : parts_(parts),
      longest_first_(longest_first(parts)),
      averages_(make_averages(parts, resident_bytes_)),
      steps_(parts.plan, *parts.parameters, {}),
      windows_(parts.plan, parts.train(), *parts.model, *parts.parameters, *parts.objective, steps_,
               averages_, clocks_, /*horizon=*/-1, *parts.ranks) {
  if (!repeatable(parts.plan.micro)) {
    throw Error(ErrorKind::findings, "`micro` does more than add to the gradient, so it cannot be tried out",
                "keep operations of the update out of `micro`, or write how large a micro-batch is");
  }
  resident_bytes_ += engine::resident_bytes(parts);
}

int64_t StepMemory::step_bytes(int64_t samples) {
  data::MicroBatchPlan micro;
  // A window, and so a micro-batch, may be larger than an epoch.
  for (size_t i = 0; i < static_cast<size_t>(samples); ++i)
    micro.samples.push_back(longest_first_[i % longest_first_.size()]);
  data::WindowPlan window;
  window.micro_batches = 1;
  window.samples = samples;
  for (const int64_t sample : micro.samples) window.tokens += parts_.former.tokens(sample);
  parts_.model->train();
  const int64_t waiting =
      std::max(data::Prefetcher::kDepth * data::bytes_of(parts_.train().collate(micro.samples)),
               data::Prefetcher::kLightBytes);
  window.micro = {std::move(micro)};
  const AllocationMeter meter;
  windows_.rehearse(window);
  return resident_bytes_ + waiting + meter.peak_bytes();
}

}  // namespace loop::engine
