#include "runtime/distributed/replicas.h"

#include <cstring>
#include <optional>

namespace loop::distributed {

namespace {

/// Order-dependent, eight bytes at a time.
uint64_t checksum(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.detach().contiguous();
  const auto* bytes = static_cast<const unsigned char*>(flat.data_ptr());
  const auto size = static_cast<size_t>(flat.numel()) * flat.element_size();
  uint64_t sum = 0xcbf29ce484222325ULL;
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min(sizeof word, size - at));
    sum = (sum ^ word) * 0x9e3779b97f4a7c15ULL;
    sum ^= sum >> 29;
  }
  return sum;
}

/// Every rank's numbers, one row per rank.
torch::Tensor gather(Communicator& ranks, const std::vector<uint64_t>& numbers, const std::string& purpose) {
  const auto count = static_cast<int64_t>(numbers.size());
  torch::Tensor all = torch::zeros({ranks.size(), count}, torch::kInt64);
  for (int64_t i = 0; i < count; ++i) {
    all[ranks.rank()][i] = static_cast<int64_t>(numbers[static_cast<size_t>(i)]);
  }
  ranks.all_reduce(all, Reduction::sum, purpose)->wait();
  return all;
}

/// Row and column of the first number that differs from rank 0's.
std::optional<std::pair<int64_t, int64_t>> first_difference(const torch::Tensor& all) {
  for (int64_t rank = 1; rank < all.size(0); ++rank) {
    for (int64_t i = 0; i < all.size(1); ++i) {
      if (all[rank][i].item<int64_t>() != all[0][i].item<int64_t>()) return std::pair{rank, i};
    }
  }
  return std::nullopt;
}

}  // namespace

void share_from_first(Communicator& ranks, const std::vector<NamedTensor>& tensors) {
  if (ranks.size() == 1) return;
  const torch::NoGradGuard no_grad;
  for (const NamedTensor& one : tensors) {
    if (one.tensor.numel() == 0) continue;
    torch::Tensor whole = one.tensor.detach().contiguous();
    ranks.broadcast(whole, "start: " + one.name);
    if (!whole.is_same(one.tensor)) torch::Tensor(one.tensor.detach()).copy_(whole);
  }
}

void average_buffers(Communicator& ranks, const std::vector<torch::Tensor>& buffers) {
  if (ranks.size() == 1) return;
  const torch::NoGradGuard no_grad;
  for (const bool floating : {true, false}) {
    std::vector<torch::Tensor> chosen, flat;
    for (const torch::Tensor& buffer : buffers) {
      if (!buffer.defined() || buffer.numel() == 0 || buffer.is_floating_point() != floating) continue;
      chosen.push_back(buffer);
      flat.push_back(buffer.detach().flatten().to(floating ? torch::kFloat64 : torch::kInt64));
    }
    if (chosen.empty()) continue;
    torch::Tensor all = torch::cat(flat);
    ranks.all_reduce(all, floating ? Reduction::sum : Reduction::maximum, "buffers of the model")->wait();
    if (floating) all.div_(ranks.size());
    int64_t offset = 0;
    for (torch::Tensor& buffer : chosen) {
      buffer.copy_(all.narrow(0, offset, buffer.numel()).view(buffer.sizes()));
      offset += buffer.numel();
    }
  }
}

void require_equal(Communicator& ranks, uint64_t number, const std::string& what, const std::string& repair) {
  if (ranks.size() == 1) return;
  const auto differs = first_difference(gather(ranks, {number}, "comparing " + what));
  if (!differs) return;
  throw Error(ErrorKind::distributed,
              what + " of rank " + std::to_string(differs->first) + " is not that of rank 0", repair);
}

void check_replicas(Communicator& ranks, const std::vector<NamedTensor>& tensors, int64_t updates) {
  if (ranks.size() == 1) return;
  std::vector<uint64_t> sums;
  for (const NamedTensor& one : tensors) sums.push_back(checksum(one.tensor));
  const auto differs = first_difference(gather(ranks, sums, "checking replicas"));
  if (!differs) return;
  throw Error(ErrorKind::distributed,
              "after " + std::to_string(updates) + " updates " +
                  tensors[static_cast<size_t>(differs->second)].name + " of rank " +
                  std::to_string(differs->first) + " is not that of rank 0",
              "the ranks no longer train one model: look for an update that not all of them take part in, or "
              "for parameters that the model changes by itself");
}

}  // namespace loop::distributed
