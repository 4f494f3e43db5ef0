// The ranks hold the same model: from the start on, checked while they train.
#pragma once

#include <string>
#include <vector>

#include "runtime/distributed/communicator.h"

namespace loop::distributed {

struct NamedTensor {
  std::string name;
  torch::Tensor tensor;
};

/// Every rank gets rank 0's tensors, in place.
void share_from_first(Communicator& ranks, const std::vector<NamedTensor>& tensors);

/// Running statistics, which every rank gathers from its own micro-batches: floating-point buffers become the
/// mean over ranks, others the maximum (they count). Nothing in training reads them, so that this is done
/// where somebody does: before an evaluation and at the end. One or two collectives.
void average_buffers(Communicator& ranks, const std::vector<torch::Tensor>& buffers);

/// Throws loop::Error (distributed) naming the first rank whose number differs from rank 0's.
/// `what`: "the plan", `repair`: what to do about it.
void require_equal(Communicator& ranks, uint64_t number, const std::string& what, const std::string& repair);

/// Compares a checksum of all bytes of the tensors. Throws loop::Error (distributed) naming the rank and the
/// first tensor that differ.
void check_replicas(Communicator& ranks, const std::vector<NamedTensor>& tensors, int64_t updates);

}  // namespace loop::distributed
