#include "runtime/checkpoint/safetensors.h"

#include <bit>
#include <nlohmann/json.hpp>

#include "loop/error.h"
#include "runtime/checkpoint/atomic_file.h"

namespace loop::checkpoint {

static_assert(std::endian::native == std::endian::little, "tensors are written as they lie in memory");

namespace {

const char* type_name(torch::Dtype dtype) {
  switch (dtype) {
    case torch::kFloat64:
      return "F64";
    case torch::kFloat32:
      return "F32";
    case torch::kFloat16:
      return "F16";
    case torch::kBFloat16:
      return "BF16";
    case torch::kInt64:
      return "I64";
    case torch::kInt32:
      return "I32";
    case torch::kInt16:
      return "I16";
    case torch::kInt8:
      return "I8";
    case torch::kUInt8:
      return "U8";
    case torch::kBool:
      return "BOOL";
    default:
      throw Error(ErrorKind::internal, "a tensor's element type has no name in a safetensors file");
  }
}

std::string header_of(const NamedTensors& tensors, const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    if (header.contains(name)) throw Error(ErrorKind::internal, "two tensors are named '" + name + "'");
    const uint64_t end = offset + static_cast<uint64_t>(tensor.numel()) * tensor.element_size();
    header[name] = {{"dtype", type_name(tensor.scalar_type())},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  constexpr size_t kAlignment = 8;  // so that the tensors can be mapped into memory in place
  while (text.size() % kAlignment != 0) text += ' ';
  return text;
}

}  // namespace

void write_safetensors(const std::filesystem::path& file, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::string header = header_of(tensors, metadata);
  const uint64_t length = header.size();
  AtomicFile out(file);
  out.write(&length, sizeof length);
  out.write(header.data(), header.size());
  for (const auto& [name, tensor] : tensors) {
    const torch::Tensor bytes = tensor.detach().contiguous();
    out.write(bytes.data_ptr(), static_cast<size_t>(bytes.numel()) * bytes.element_size());
  }
  out.commit();
}

}  // namespace loop::checkpoint
