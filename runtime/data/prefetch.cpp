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

Prefetcher::Prefetcher(const Source& source, int64_t depth)
    : source_(source), depth_(depth < 1 ? 1 : depth), thread_([this] { work(); }) {}

Prefetcher::~Prefetcher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Prefetcher::request(MicroBatchPlan micro_batch) {
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(std::move(micro_batch));
  }
  changed_.notify_all();
}

void Prefetcher::request_all(const WindowPlan& window) {
  for (const MicroBatchPlan& micro_batch : window.micro) request(micro_batch);
}

Batch Prefetcher::next() {
  std::unique_lock lock(mutex_);
  if (outcomes_.empty() && requests_.empty() && !in_work_) {
    throw Error(ErrorKind::internal, "a batch was taken that nobody asked for");
  }
  changed_.wait(lock, [this] { return !outcomes_.empty(); });
  Outcome outcome = std::move(outcomes_.front());
  outcomes_.pop_front();
  lock.unlock();
  changed_.notify_all();
  if (auto* failure = std::get_if<std::exception_ptr>(&outcome)) std::rethrow_exception(*failure);
  return std::get<Batch>(std::move(outcome));
}

void Prefetcher::clear() {
  const std::lock_guard lock(mutex_);
  requests_.clear();
  outcomes_.clear();
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
    changed_.wait(lock, [this] {
      return stopping_ || (!requests_.empty() && static_cast<int64_t>(outcomes_.size()) < depth_);
    });
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
    outcomes_.push_back(std::move(outcome));
    changed_.notify_all();
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
