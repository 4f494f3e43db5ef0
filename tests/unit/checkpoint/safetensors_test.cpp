#include "runtime/checkpoint/safetensors.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "loop/error.h"

namespace loop::checkpoint {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST_CASE("every byte of a small file") {
  const fs::path folder = fs::temp_directory_path() / ("loop_safetensors_" + std::to_string(getpid()));
  fs::create_directories(folder);
  const fs::path file = folder / "model.safetensors";
  const torch::Tensor matrix =
      torch::tensor({1, 2, 3, 4, 5, 6}, torch::kInt32).view({2, 3}).t();  // not contiguous
  const torch::Tensor none = torch::empty({0, 4}, torch::kFloat64);
  const torch::Tensor scalar = torch::tensor(-1, torch::kInt64);
  write_safetensors(file, {{"matrix", matrix}, {"none", none}, {"scalar", scalar}}, {{"format", "pt"}});
  const std::string text = content(file);
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"matrix":{"dtype":"I32","shape":[3,2],"data_offsets":[0,24]},)"
      R"("none":{"dtype":"F64","shape":[0,4],"data_offsets":[24,24]},"scalar":{"dtype":"I64","shape":[],"data_offsets":[24,32]}})";
  const size_t padded = (header.size() + 7) / 8 * 8;
  REQUIRE(text.size() == 8 + padded + 32);
  CHECK(static_cast<unsigned char>(text[0]) + 256 * static_cast<unsigned char>(text[1]) == padded);
  CHECK(text.substr(2, 6) == std::string(6, '\0'));
  CHECK(text.substr(8, padded) == header + std::string(padded - header.size(), ' '));
  std::string bytes;
  for (const char value : {1, 4, 2, 5, 3, 6}) bytes += std::string(1, value) + std::string(3, '\0');
  CHECK(text.substr(8 + padded) == bytes + std::string(8, '\xff'));

  // Written over as a whole, and nothing else is left in the folder.
  write_safetensors(file, {{"scalar", scalar}}, {});
  CHECK(content(file).size() < text.size());
  CHECK(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 1);
  // What fails leaves the file before it as it was.
  const std::string before = content(file);
  CHECK_THROWS_AS(write_safetensors(file, {{"twice", scalar}, {"twice", scalar}}, {}), Error);
  CHECK(content(file) == before);
  CHECK_THROWS_AS(write_safetensors(folder / "nowhere" / "x", {{"a", scalar}}, {}), Error);
  CHECK(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 1);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace loop::checkpoint
