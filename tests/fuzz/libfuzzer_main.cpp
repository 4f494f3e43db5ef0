// The entry point libFuzzer calls; LOOP_FUZZ_RUN is the target's function.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  loop::fuzz::LOOP_FUZZ_RUN({reinterpret_cast<const char*>(data), size});
  return 0;
}
