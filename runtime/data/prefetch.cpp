#include "runtime/data/prefetch.h"

#include <string>
#include <utility>

#include "loop/error.h"

namespace loop::data {
namespace {

// `samples` cannot be read: an Error that says so, of the kind of what was thrown.
std::exception_ptr with_samples(std::span<const int64_t> samples, const std::exception& cause) {
  std::string message = samples.size() == 1 ? "sample " : "samples ";
  for (size_t i = 0; i < samples.size(); ++i) message += (i > 0 ? ", " : "") + std::to_string(samples[i]);
  message += std::string(": ") + cause.what();
  if (const auto* error = dynamic_cast<const Error*>(&cause)) {
    return std::make_exception_ptr(Error(error->kind(), message, error->repair()));
  }
  return std::make_exception_ptr(Error(ErrorKind::training, message, "check the data of this sample"));
}

}  // namespace

int64_t bytes_of(const Batch& batch) {
  int64_t total = 0;
  for (const torch::Tensor& tensor : {batch.inputs, batch.targets, batch.valid}) {
    if (tensor.defined()) total += static_cast<int64_t>(tensor.nbytes());
  }
  return total;
}

Prefetcher::Prefetcher(const Source& source, int64_t depth, int64_t light_bytes)
    : source_(source),
      depth_(depth < 1 ? 1 : depth),
      light_bytes_(light_bytes),
      thread_([this] { work(); }) {}

Prefetcher::~Prefetcher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wanted_.notify_one();
  thread_.join();
}

void Prefetcher::request(MicroBatchPlan micro_batch) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(std::move(micro_batch));
  wake();
}

void Prefetcher::request_all(const WindowPlan& window) {
  const std::lock_guard lock(mutex_);
  requests_.insert(requests_.end(), window.micro.begin(), window.micro.end());
  wake();
}

bool Prefetcher::room() const {
  return static_cast<int64_t>(outcomes_.size()) < depth_ || outcome_bytes_ < light_bytes_;
}

// Waking a thread costs as much as collating a small batch: it is done when there is work for more than one,
// or when not much is left to take.
void Prefetcher::wake() {
  if (!sleeping_ || requests_.empty() || !room()) return;
  const auto waiting = static_cast<int64_t>(outcomes_.size());
  if (waiting >= depth_ && waiting > stopped_at_ / 2) return;
  sleeping_ = false;
  wanted_.notify_one();
}

Batch Prefetcher::next() {
  std::unique_lock lock(mutex_);
  if (outcomes_.empty() && !in_work_) {
    if (requests_.empty()) throw Error(ErrorKind::internal, "a batch was taken that nobody asked for");
    // The thread has not come to it yet: waiting for it would take longer.
    const MicroBatchPlan micro_batch = std::move(requests_.front());
    requests_.pop_front();
    wake();
    lock.unlock();
    return taken(collate(micro_batch));
  }
  ready_.wait(lock, [this] { return !outcomes_.empty(); });
  Outcome outcome = std::move(outcomes_.front());
  outcomes_.pop_front();
  if (const auto* batch = std::get_if<Batch>(&outcome)) outcome_bytes_ -= bytes_of(*batch);
  wake();
  lock.unlock();
  return taken(std::move(outcome));
}

Batch Prefetcher::taken(Outcome outcome) {
  if (auto* failure = std::get_if<std::exception_ptr>(&outcome)) std::rethrow_exception(*failure);
  return std::get<Batch>(std::move(outcome));
}

void Prefetcher::clear() {
  const std::lock_guard lock(mutex_);
  requests_.clear();
  outcomes_.clear();
  outcome_bytes_ = 0;
  in_work_ = false;
  ++generation_;
}

int64_t Prefetcher::pending() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(requests_.size() + outcomes_.size()) + in_work_;
}

void Prefetcher::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!stopping_ && (requests_.empty() || !room())) {
      sleeping_ = true;
      stopped_at_ = static_cast<int64_t>(outcomes_.size());
      wanted_.wait(lock, [this] { return stopping_ || !sleeping_; });
      sleeping_ = false;
      continue;
    }
    if (stopping_) return;
    const MicroBatchPlan micro_batch = std::move(requests_.front());
    requests_.pop_front();
    in_work_ = true;
    const int64_t generation = generation_;
    lock.unlock();
    Outcome outcome = collate(micro_batch);
    lock.lock();
    if (generation != generation_) continue;
    in_work_ = false;
    if (const auto* batch = std::get_if<Batch>(&outcome)) outcome_bytes_ += bytes_of(*batch);
    outcomes_.push_back(std::move(outcome));
    if (outcomes_.size() == 1) ready_.notify_one();
  }
}

Prefetcher::Outcome Prefetcher::collate(const MicroBatchPlan& micro_batch) const {
  try {
    return source_.collate(micro_batch.samples, micro_batch.padding_rows);
  } catch (const std::exception& failure) {
    // Which sample it was: the first that fails alone.
    for (const int64_t sample : micro_batch.samples) {
      try {
        source_.collate({&sample, 1});
      } catch (const std::exception& cause) {
        return with_samples({&sample, 1}, cause);
      }
    }
    if (micro_batch.samples.empty()) return std::current_exception();
    return with_samples(micro_batch.samples, failure);
  }
}

}  // namespace loop::data
