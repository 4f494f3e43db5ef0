// Who is missing when a collective fails: the ranks tell each other through the rendezvous store, which works
// when the process group no longer does.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <atomic>
#include <memory>
#include <thread>

#include "runtime/distributed/communicator.h"

namespace loop::distributed {

/// A thread that answers the alarm of another rank with where this rank stands, even while its main thread
/// computes or waits. A rank that is dead or stopped does not answer, and so is found.
class Watch {
 public:
  /// `store`: this rank's own connection, used by the thread alone.
  Watch(c10::intrusive_ptr<c10d::Store> store, int64_t rank, int64_t size, const CollectiveLog& log);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// What the other ranks know of a failed collective: throws RemoteError when a rank has said why it ends,
  /// else loop::Error (distributed) naming the missing ranks. The first rank that notices prints the log.
  [[noreturn]] void explain(c10d::Store& store, const CollectiveRecord& failed,
                            const std::string& cause) const;

  /// Tells why this rank ends.
  void announce(c10d::Store& store, const Error& error) const;

 private:
  void answer_alarms();
  void report(c10d::Store& store) const;
  std::string verdict(c10d::Store& store, const CollectiveRecord& failed, const std::string& cause) const;
  void throw_if_announced(c10d::Store& store) const;

  c10::intrusive_ptr<c10d::Store> store_;
  int64_t rank_;
  int64_t size_;
  const CollectiveLog& log_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;  // last
};

}  // namespace loop::distributed
