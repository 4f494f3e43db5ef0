// Reading and writing safetensors files, as far as the benchmarks need it: fp32 and int64.
#pragma once

#include <torch/torch.h>

#include <map>
#include <string>

namespace bench {

using Tensors = std::map<std::string, torch::Tensor>;

/// Throw std::runtime_error for a file that cannot be read or written.
Tensors read_tensors(const std::string& file);
void write_tensors(const std::string& file, const Tensors& tensors);

}  // namespace bench
