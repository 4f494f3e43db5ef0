#include "runtime/engine/rank_sync.h"

#include "loop/error.h"
#include "runtime/distributed/launch.h"
#include "runtime/distributed/replicas.h"

namespace loop::engine {

using distributed::Reduction;

namespace {

/// The same on every rank, or the ranks would start different collectives.
int64_t agreed_bucket_bytes(distributed::Communicator& ranks) {
  if (ranks.size() == 1) return distributed::GradientSync::kBucketBytes;
  const int64_t bytes = distributed::read_bucket_bytes(distributed::process_environment(),
                                                       distributed::GradientSync::kBucketBytes);
  distributed::require_equal(ranks, static_cast<uint64_t>(bytes), "LOOP_BUCKET_BYTES",
                             "set the variable to one value for all ranks, or for none");
  return bytes;
}

}  // namespace

RankSync::RankSync(const plan::Plan& plan, gradients::Parameters& parameters, const Objective& objective,
                   distributed::Communicator& ranks)
    : plan_(plan),
      parameters_(parameters),
      objective_(objective),
      ranks_(ranks),
      gradients_(parameters, ranks, agreed_bucket_bytes(ranks), plan.window.compress) {}

bool RankSync::synchronises(const MicroState& micro) const {
  if (plan_.window.sync == plan::Sync::manual) return false;
  if (!micro.sync_scope) return true;
  switch (*micro.sync_scope) {
    case plan::SyncOn::last:
      return micro.last;
    case plan::SyncOn::first:
      return micro.first;
    case plan::SyncOn::every:
      return true;
    case plan::SyncOn::none:
      return false;
  }
  throw Error(ErrorKind::internal, "a `sync_on` without a meaning");
}

void RankSync::before_backward(const WindowState& window) {
  if (!active()) return;
  finish();
  if (only_new_contribution()) {
    for (const gradients::ParameterGroup& group : parameters_.groups()) {
      accumulated_.push_back(group.gradients.clone());
    }
    parameters_.zero_gradients();
  }
  gradients_.begin("window " + std::to_string(window.number + 1));
}

void RankSync::after_backward(const MicroState& micro, WindowState& window) {
  window.reduced_by = plan_.window.reduce;
  window.reduced = true;
  if (!active()) return;
  gradients_.launch_rest();
  mean_pending_ = plan_.window.reduce == plan::ReduceMode::mean;
  if (!micro.last || !accumulated_.empty()) finish();
}

void RankSync::finish() {
  if (!active()) return;
  gradients_.wait();
  if (mean_pending_) parameters_.scale_gradients({}, 1 / static_cast<double>(ranks_.size()));
  mean_pending_ = false;
  for (size_t g = 0; g < accumulated_.size(); ++g) parameters_.groups()[g].gradients.add_(accumulated_[g]);
  accumulated_.clear();
}

void RankSync::reduce(const plan::Operation& operation, WindowState& window) {
  // Under another `sync` than manual the backward passes reduce, and nothing else does.
  if (plan_.window.sync != plan::Sync::manual) return;
  window.reduced_by = operation.reduce_mode;
  window.reduced = true;
  window.known_finite = window.known_finite && ranks_.size() == 1;
  if (ranks_.size() > 1) window.norm.reset();
  parameters_.settle();
  if (!active()) return;
  gradients_.reduce("window " + std::to_string(window.number + 1) + ", " + plan::to_text(operation) + " at " +
                    plan::to_text(operation.place));
  if (operation.reduce_mode == plan::ReduceMode::mean) {
    parameters_.scale_gradients({}, 1 / static_cast<double>(ranks_.size()));
  }
}

void RankSync::agree(WindowState& window) {
  if (window.agreed) return;
  window.agreed = true;
  window.term_sums.assign(objective_.terms().size(), 0);
  for (const MicroLosses& losses : window.losses) {
    for (size_t t = 0; t < losses.values.size(); ++t) window.term_sums[t] += losses.values[t].item<double>();
  }
  if (ranks_.size() == 1) {
    if (!window.counts_complete) window.counts = window.rank_counts;
    return;
  }
  const RankFlags flags = flags_ ? flags_() : RankFlags{};
  std::vector<double> vector = window.rank_counts;
  for (const gradients::ParameterGroup& group : parameters_.groups()) {
    for (const gradients::Slot& slot : group.slots) vector.push_back(slot.touched);
  }
  vector.insert(vector.end(), window.term_sums.begin(), window.term_sums.end());
  vector.push_back(flags.interrupted);
  vector.push_back(ranks_.rank() == 0 ? flags.seconds : 0);
  const torch::Tensor all = torch::tensor(vector, torch::kFloat64);
  const auto pending =
      ranks_.all_reduce(all, Reduction::sum,
                        "window " + std::to_string(window.number + 1) + ", counts, touched bits and flags");
  finish();
  pending->wait();
  const double* next = all.data_ptr<double>();
  for (double& count : window.rank_counts) {
    const double sum = *next++;
    if (!window.counts_complete) window.counts[static_cast<size_t>(&count - window.rank_counts.data())] = sum;
  }
  for (gradients::ParameterGroup& group : parameters_.groups()) {
    for (gradients::Slot& slot : group.slots) slot.touched = *next++ > 0;
  }
  for (double& sum : window.term_sums) sum = *next++;
  window.interrupted = *next++ > 0;
  window.seconds = *next;
}

Counts RankSync::sum_counts(const Counts& mine) {
  if (ranks_.size() == 1 || mine.empty()) return mine;
  const torch::Tensor all = torch::tensor(mine, torch::kFloat64);
  ranks_.all_reduce(all, Reduction::sum, "counts ahead of the window")->wait();
  const double* first = all.data_ptr<double>();
  return {first, first + all.numel()};
}

bool RankSync::all_finite(bool mine, const WindowState& window) {
  if (!active() || window.reduced) return mine;
  const torch::Tensor bad = torch::tensor({static_cast<int64_t>(!mine)}, torch::kInt64);
  ranks_.all_reduce(bad, Reduction::maximum, "whether every rank's gradient is finite")->wait();
  return bad.item<int64_t>() == 0;
}

void RankSync::agree_on_culprit(Nonfinite& found, int64_t micro_batches) {
  if (ranks_.size() == 1) return;
  // The larger the earlier, 0 for none.
  const int64_t places = micro_batches * ranks_.size();
  const int64_t mine = found.micro_batch
                           ? places - static_cast<int64_t>(*found.micro_batch) * ranks_.size() - ranks_.rank()
                           : 0;
  const torch::Tensor first = torch::tensor({mine}, torch::kInt64);
  ranks_.all_reduce(first, Reduction::maximum, "which micro-batch was not finite")->wait();
  const int64_t place = places - first.item<int64_t>();
  if (place == places) return;
  found.micro_batch = static_cast<size_t>(place / ranks_.size());
  found.rank = place % ranks_.size();
}

}  // namespace loop::engine
