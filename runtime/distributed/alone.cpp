#include "runtime/distributed/communicator.h"

namespace loop::distributed {

namespace {

class Done : public Pending {
 public:
  void wait() override {}
};

class Alone : public Communicator {
 public:
  int64_t rank() const override { return 0; }
  int64_t size() const override { return 1; }
  std::string backend() const override { return "none"; }
  std::unique_ptr<Pending> all_reduce(torch::Tensor, Reduction, const std::string&) override {
    return std::make_unique<Done>();
  }
  void broadcast(torch::Tensor, const std::string&) override {}
  void training_begins() override {}
  void announce(const Error&) noexcept override {}
  CollectiveLog::Totals traffic() const override { return {}; }
};

}  // namespace

std::shared_ptr<Communicator> alone() {
  static const std::shared_ptr<Communicator> one = std::make_shared<Alone>();
  return one;
}

}  // namespace loop::distributed
