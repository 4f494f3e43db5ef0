// Files that hold what a test expects, for a person to read.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace loop::testing {

/// `shown` is what the file says. LOOP_UPDATE_GOLDEN=1 writes the file anew.
inline void check_golden(const std::filesystem::path& path, const std::string& shown) {
  if (std::getenv("LOOP_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << shown;
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file.good(), path.string());
  const std::string expected{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  CHECK(shown == expected);
}

}  // namespace loop::testing
