#include "bench/peers/tensors_file.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace bench {

namespace {

constexpr size_t kLengthBytes = 8;

torch::Dtype dtype_of(const std::string& name) {
  if (name == "F32") return torch::kFloat32;
  if (name == "I64") return torch::kInt64;
  throw std::runtime_error("an element type that the benchmarks do not use: " + name);
}

}  // namespace

Tensors read_tensors(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in || bytes.size() < kLengthBytes) throw std::runtime_error("cannot read " + file);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  const auto header = nlohmann::json::parse(bytes.substr(kLengthBytes, length));
  const char* data = bytes.data() + kLengthBytes + length;
  Tensors tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const torch::Tensor tensor =
        torch::empty(entry.at("shape").get<std::vector<int64_t>>(), dtype_of(entry.at("dtype")));
    std::memcpy(tensor.data_ptr(), data + entry.at("data_offsets").at(0).get<size_t>(), tensor.nbytes());
    tensors.emplace(name, tensor);
  }
  return tensors;
}

void write_tensors(const std::string& file, const Tensors& tensors) {
  nlohmann::json header;
  size_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", "F32"},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {offset, offset + tensor.nbytes()}}};
    offset += tensor.nbytes();
  }
  std::string text = header.dump();
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');
  const uint64_t length = text.size();
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&length), kLengthBytes);
  out << text;
  for (const auto& [name, tensor] : tensors) {
    const torch::Tensor whole = tensor.to(torch::kFloat32).contiguous();
    out.write(static_cast<const char*>(whole.data_ptr()), static_cast<std::streamsize>(whole.nbytes()));
  }
  if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

}  // namespace bench
