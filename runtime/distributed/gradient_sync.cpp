#include "runtime/distributed/gradient_sync.h"

#include <algorithm>

namespace loop::distributed {

namespace {

/// Where a bucket ends in the model, as a fraction of its group: groups cut the model across, so that equal
/// fractions are roughly equally deep.
double depth(const Bucket& bucket, const gradients::ParameterGroup& group) {
  return static_cast<double>(bucket.offset) /
         static_cast<double>(std::max<int64_t>(group.gradients.numel(), 1));
}

}  // namespace

std::vector<Bucket> make_buckets(const std::vector<gradients::ParameterGroup>& groups, int64_t bucket_bytes) {
  std::vector<Bucket> buckets;
  for (size_t g = 0; g < groups.size(); ++g) {
    const gradients::ParameterGroup& group = groups[g];
    const int64_t most =
        std::max<int64_t>(1, bucket_bytes / static_cast<int64_t>(group.gradients.element_size()));
    bool open = false;
    // From the end: what a backward pass completes first fills the first bucket.
    for (auto slot = group.slots.rbegin(); slot != group.slots.rend(); ++slot) {
      const bool shared = !slot->aliases.empty();
      if (!open || buckets.back().size + slot->size > most || buckets.back().waits_for_end != shared) {
        buckets.push_back({g, slot->offset + slot->size, 0, {}, shared});
        open = true;
      }
      Bucket& bucket = buckets.back();
      bucket.offset = slot->offset;
      bucket.size += slot->size;
      bucket.slots.push_back(&*slot);
    }
  }
  std::erase_if(buckets, [](const Bucket& bucket) { return bucket.size == 0; });
  std::stable_sort(buckets.begin(), buckets.end(), [&](const Bucket& a, const Bucket& b) {
    if (a.waits_for_end != b.waits_for_end) return b.waits_for_end;
    return depth(a, groups[a.group]) > depth(b, groups[b.group]);
  });
  return buckets;
}

GradientSync::GradientSync(gradients::Parameters& parameters, Communicator& ranks, int64_t bucket_bytes)
    : parameters_(parameters), ranks_(ranks) {
  if (ranks_.size() == 1) return;
  buckets_ = make_buckets(parameters.groups(), bucket_bytes);
  for (size_t b = 0; b < buckets_.size(); ++b) {
    for (const gradients::Slot* slot : buckets_[b].slots) bucket_of_[slot] = b;
  }
  parameters_.on_accumulated([this](const gradients::Slot& slot) { accumulated(slot); });
}

GradientSync::~GradientSync() {
  if (!buckets_.empty()) parameters_.on_accumulated(nullptr);
}

void GradientSync::begin(const std::string& purpose) {
  wait();
  purpose_ = purpose;
  open_ = !buckets_.empty();
  next_ = 0;
  missing_.clear();
  for (const Bucket& bucket : buckets_) missing_.push_back(bucket.slots.size());
}

void GradientSync::accumulated(const gradients::Slot& slot) {
  if (!open_) return;
  const auto found = bucket_of_.find(&slot);
  if (found == bucket_of_.end()) return;
  const size_t bucket = found->second;
  if (buckets_[bucket].waits_for_end) return;
  if (missing_[bucket] == 0) {
    throw Error(ErrorKind::internal, "the gradient of " + slot.name +
                                         " was changed after its reduction over ranks had begun: a backward "
                                         "reached it twice");
  }
  --missing_[bucket];
  while (next_ < buckets_.size() && missing_[next_] == 0) launch(next_++);
}

void GradientSync::launch(size_t index) {
  const Bucket& bucket = buckets_[index];
  const torch::Tensor& arena = parameters_.groups()[bucket.group].gradients;
  pending_.push_back(ranks_.all_reduce(arena.narrow(0, bucket.offset, bucket.size), Reduction::sum,
                                       purpose_ + ", gradient bucket " + std::to_string(index + 1) + " of " +
                                           std::to_string(buckets_.size())));
}

void GradientSync::launch_rest() {
  while (open_ && next_ < buckets_.size()) launch(next_++);
  open_ = false;
}

void GradientSync::wait() {
  for (const auto& one : pending_) one->wait();
  pending_.clear();
}

void GradientSync::reduce(const std::string& purpose) {
  begin(purpose);
  launch_rest();
  wait();
}

}  // namespace loop::distributed
