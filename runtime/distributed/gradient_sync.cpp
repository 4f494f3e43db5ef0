#include "runtime/distributed/gradient_sync.h"

#include "runtime/gradients/slot_sizes.h"

namespace loop::distributed {

std::vector<Bucket> make_buckets(const std::vector<gradients::ParameterGroup>& groups, int64_t bucket_bytes) {
  if (groups.empty()) return {};
  std::vector<Bucket> buckets;
  const auto element_bytes = static_cast<int64_t>(groups.front().gradients.element_size());
  for (const plan::BucketShape& shape :
       plan::make_buckets(gradients::slot_sizes(groups), element_bytes, bucket_bytes)) {
    Bucket bucket{shape.group, shape.offset, shape.size, {}, shape.waits_for_end};
    const std::vector<gradients::Slot>& slots = groups[shape.group].slots;
    for (size_t s = shape.first_slot; s < shape.first_slot + shape.slot_count; ++s)
      bucket.slots.push_back(&slots[s]);
    buckets.push_back(std::move(bucket));
  }
  return buckets;
}

GradientSync::GradientSync(gradients::Parameters& parameters, Communicator& ranks, int64_t bucket_bytes,
                           plan::Compression compress)
    : parameters_(parameters), ranks_(ranks), compress_(compress) {
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
  Launched one;
  one.slice = parameters_.groups()[bucket.group].gradients.narrow(0, bucket.offset, bucket.size);
  if (compress_ == plan::Compression::bf16) one.sent = one.slice.to(torch::kBFloat16);
  one.work = ranks_.all_reduce(
      one.sent.defined() ? one.sent : one.slice, Reduction::sum,
      purpose_ + ", gradient bucket " + std::to_string(index + 1) + " of " + std::to_string(buckets_.size()));
  pending_.push_back(std::move(one));
}

void GradientSync::launch_rest() {
  while (open_ && next_ < buckets_.size()) launch(next_++);
  open_ = false;
}

void GradientSync::wait() {
  for (const Launched& one : pending_) {
    one.work->wait();
    if (one.sent.defined()) torch::Tensor(one.slice).copy_(one.sent);
  }
  if (!pending_.empty()) {
    for (const gradients::ParameterGroup& group : parameters_.groups()) group.gradients_written();
  }
  pending_.clear();
}

void GradientSync::reduce(const std::string& purpose) {
  begin(purpose);
  launch_rest();
  wait();
}

}  // namespace loop::distributed
