// One rank of many in this process: collectives go to c10d's fake group, which completes them at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/distributed/communicator.h"

namespace loop::testing {

/// The others are taken to send what this rank sends where the run compares the ranks, and nothing elsewhere.
class FakeRanks : public distributed::Communicator {
 public:
  FakeRanks(int64_t rank, int64_t size);
  ~FakeRanks() override;
  int64_t rank() const override { return rank_; }
  int64_t size() const override { return size_; }
  std::string backend() const override { return "fake"; }
  std::unique_ptr<distributed::Pending> all_reduce(torch::Tensor tensor, distributed::Reduction how,
                                                   const std::string& purpose) override;
  void broadcast(torch::Tensor tensor, const std::string& purpose) override;
  void training_begins() override {}
  void announce(const Error&) noexcept override {}
  distributed::CollectiveLog::Totals traffic() const override { return log_.totals(); }

  /// The ring log, as a lost rank makes the others print it.
  std::string ring() const { return log_.dump(); }
  /// Every launch, oldest first.
  const std::vector<distributed::CollectiveRecord>& launches() const { return launches_; }

 private:
  struct Group;
  void note(const std::string& operation, const torch::Tensor& tensor, const std::string& purpose);

  int64_t rank_;
  int64_t size_;
  distributed::CollectiveLog log_;
  std::vector<distributed::CollectiveRecord> launches_;
  std::unique_ptr<Group> group_;
};

}  // namespace loop::testing
