// The ranks of a launch, joined through c10d.
#pragma once

#include <memory>

#include "runtime/distributed/communicator.h"
#include "runtime/distributed/launch.h"

namespace loop::distributed {

/// Meets the other ranks at the launch's store and connects to them. One process gives alone(). `cuda`: the
/// run's tensors are on a GPU, whose backend is NCCL; see nccl_available(). Between ranks of one machine
/// everything stays on the loopback interface. Throws loop::Error (distributed) naming the ranks that did not
/// arrive in time.
std::shared_ptr<Communicator> join(const Launch& launch, const Timeouts& timeouts, bool cuda);

/// A rendezvous store for ranks of this machine, in this process, reachable from this machine only.
class StoreHost {
 public:
  StoreHost();
  ~StoreHost();
  StoreHost(const StoreHost&) = delete;
  StoreHost& operator=(const StoreHost&) = delete;
  int64_t port() const;

 private:
  struct Store;
  std::unique_ptr<Store> store_;
};

}  // namespace loop::distributed
