// Every input that once broke a target is run again, without libFuzzer; so are the workspace's own specs.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/targets.h"

namespace fs = std::filesystem;

namespace {

const fs::path kFolder = fs::path(LOOP_SOURCE_DIR) / "tests" / "fuzz";

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("what once broke a fuzz target does no longer") {
  for (const loop::fuzz::Target& target : loop::fuzz::targets()) {
    const fs::path folder = kFolder / "regressions" / target.name;
    if (!fs::is_directory(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder)) {
      INFO(entry.path().string());
      target.run(read(entry.path()));
    }
  }
}

TEST_CASE("the workspace's specs pass every target") {
  for (const auto& entry : fs::directory_iterator(kFolder / "workspace")) {
    if (entry.path().extension() != ".loop") continue;
    for (const loop::fuzz::Target& target : loop::fuzz::targets()) {
      INFO(target.name << " with " << entry.path().string());
      target.run(read(entry.path()));
    }
  }
}

TEST_CASE("every target takes nothing, zeros and bytes that are no text") {
  for (const loop::fuzz::Target& target : loop::fuzz::targets()) {
    INFO(target.name);
    target.run("");
    target.run(std::string(3, '\0'));
    target.run("\xFF\xFE\x80=");
    target.run("loop a {\n");
  }
}
