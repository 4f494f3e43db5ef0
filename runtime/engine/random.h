// Random numbers of a run. Every use has a stream of its own, a function of the seed, the use and an index,
// so that no use disturbs another and any part can be run again.
#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace loop::engine {

enum class Stream : uint64_t {
  initialisation = 1,  // index 0
  training = 2,        // index: windows finished before this one
  evaluation = 3,      // index: evaluations before this one
};

/// Starts LibTorch's generator at the beginning of a stream. Every rank has its own.
void start_stream(uint64_t seed, Stream stream, uint64_t index, int64_t rank = 0);

/// Gives the generator its state back at the end of the scope.
class RandomStateGuard {
 public:
  RandomStateGuard();
  ~RandomStateGuard();
  RandomStateGuard(const RandomStateGuard&) = delete;
  RandomStateGuard& operator=(const RandomStateGuard&) = delete;

 private:
  torch::Tensor state_;
};

}  // namespace loop::engine
