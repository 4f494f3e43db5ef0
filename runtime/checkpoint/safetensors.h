// The safetensors file format: 8 bytes of header length (little endian), a JSON header, then the tensors'
// bytes.
#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace loop::checkpoint {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

/// Writes the tensors (any strides, CPU) in the given order. The file appears under its name only when it is
/// complete and on disk: it is written beside it, synchronised, and renamed. Throws loop::Error (usage) when
/// it cannot be written, and (internal) for a name that occurs twice or an element type the format does not
/// know.
void write_safetensors(const std::filesystem::path& file, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace loop::checkpoint
