// What the engine needs of other processes. One process has an implementation that does nothing, so that it
// pays nothing.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>

#include "loop/error.h"
#include "runtime/distributed/collective_log.h"

namespace loop::distributed {

enum class Reduction { sum, maximum };

/// A collective in flight. Destroying it without waiting is allowed only on the way out of a failure.
class Pending {
 public:
  virtual ~Pending() = default;
  /// Returns when the result is in place. Throws loop::Error (distributed), or RemoteError, when another rank
  /// is lost.
  virtual void wait() = 0;
};

/// Another rank could not go on and said why; every rank ends with the same exit code.
class RemoteError : public Error {
 public:
  RemoteError(int64_t rank, ErrorKind kind, const std::string& message)
      : Error(kind, "rank " + std::to_string(rank) + ": " + message), rank_(rank) {}
  int64_t rank() const { return rank_; }

 private:
  int64_t rank_;
};

/// The ranks of a run. Collectives must be started in the same order on all of them. Called from one thread.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  virtual std::string backend() const = 0;  // "gloo", "none"

  /// Combines the tensors of all ranks, in place, element by element; bitwise the same on every rank.
  /// `tensor`: contiguous, equal in size and type on all ranks. `purpose` is for the log of collectives.
  virtual std::unique_ptr<Pending> all_reduce(torch::Tensor tensor, Reduction how,
                                              const std::string& purpose) = 0;
  /// Every rank gets rank 0's content, in place.
  virtual void broadcast(torch::Tensor tensor, const std::string& purpose) = 0;

  /// From now on collectives are given the time limit of training instead of that of the start.
  virtual void training_begins() = 0;
  /// Tells the others why this rank ends. Never throws.
  virtual void announce(const Error& error) noexcept = 0;
  /// Collectives started so far.
  virtual CollectiveLog::Totals traffic() const = 0;
};

/// One process: all collectives are the identity and none is counted.
std::shared_ptr<Communicator> alone();

}  // namespace loop::distributed
