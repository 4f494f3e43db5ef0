#include "fake_ranks.h"

#include <torch/csrc/distributed/c10d/FakeProcessGroup.hpp>

namespace loop::testing {

using distributed::Reduction;

namespace {

class Work : public distributed::Pending {
 public:
  explicit Work(c10::intrusive_ptr<c10d::Work> work) : work_(std::move(work)) {}
  void wait() override { work_->wait(); }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
};

}  // namespace

struct FakeRanks::Group {
  c10::intrusive_ptr<c10d::FakeProcessGroup> group;
};

FakeRanks::FakeRanks(int64_t rank, int64_t size)
    : rank_(rank),
      size_(size),
      group_(std::make_unique<Group>(
          Group{c10d::FakeProcessGroup::_create_internal(static_cast<int>(rank), static_cast<int>(size))})) {}

FakeRanks::~FakeRanks() = default;

std::unique_ptr<distributed::Pending> FakeRanks::all_reduce(torch::Tensor tensor, Reduction how,
                                                            const std::string& purpose) {
  const bool sum = how == Reduction::sum;
  note(sum ? "all-reduce sum" : "all-reduce max", tensor, purpose);
  c10d::AllreduceOptions options;
  options.reduceOp = sum ? c10d::ReduceOp::SUM : c10d::ReduceOp::MAX;
  std::vector<at::Tensor> tensors = {tensor};
  auto work = group_->group->allreduce(tensors, options);
  // A table with a row per rank compares them; this rank filled its own.
  if (sum && tensor.scalar_type() == torch::kInt64 && tensor.dim() == 2 && tensor.size(0) == size_) {
    tensor.copy_(tensor[rank_].clone().expand_as(tensor));
  }
  return std::make_unique<Work>(std::move(work));
}

void FakeRanks::broadcast(torch::Tensor tensor, const std::string& purpose) {
  note("broadcast", tensor, purpose);
  std::vector<at::Tensor> tensors = {tensor};
  group_->group->broadcast(tensors)->wait();
}

void FakeRanks::note(const std::string& operation, const torch::Tensor& tensor, const std::string& purpose) {
  const int64_t bytes = tensor.numel() * static_cast<int64_t>(tensor.element_size());
  launches_.push_back({log_.start(operation, bytes, purpose), operation, bytes, purpose});
}

}  // namespace loop::testing
