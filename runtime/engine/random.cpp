#include "runtime/engine/random.h"

#include <ATen/CPUGeneratorImpl.h>

namespace loop::engine {

namespace {

/// The finaliser of SplitMix64: neighbouring inputs give unrelated outputs.
uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

}  // namespace

void start_stream(uint64_t seed, Stream stream, uint64_t index, int64_t rank) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  const uint64_t of_rank0 = mix(mix(mix(seed) ^ static_cast<uint64_t>(stream)) ^ index);
  generator.set_current_seed(rank == 0 ? of_rank0 : mix(of_rank0 ^ static_cast<uint64_t>(rank)));
}

RandomStateGuard::RandomStateGuard() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  state_ = generator.get_state();
}

RandomStateGuard::~RandomStateGuard() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(state_);
}

}  // namespace loop::engine
