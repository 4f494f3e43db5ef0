// Whether this build can join ranks on GPUs.
#pragma once

namespace loop::distributed {

/// False where LibTorch's CUDA half is not linked (no_nccl.cpp stands in for it).
bool nccl_available();

}  // namespace loop::distributed
