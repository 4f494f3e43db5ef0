// The PTX of every rule of the standard library, as NVIDIA's assembler sees it. It needs no GPU.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler/kernels/compiled_rule.h"
#include "tests/support/standard_rules.h"

namespace loop::testing {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// What ptxas says against a text; nothing when it makes device code of it.
std::string complaint(const fs::path& folder, const std::string& ptx, const std::string& target) {
  std::ofstream(folder / "rule.ptx") << ptx;
  fs::remove(folder / "rule.cubin");
  const std::string command = "'" LOOP_PTXAS "' --warning-as-error -arch=" + target + " -o '" +
                              (folder / "rule.cubin").string() + "' '" + (folder / "rule.ptx").string() +
                              "' > '" + (folder / "said").string() + "' 2>&1";
  const bool good = std::system(command.c_str()) == 0 && fs::exists(folder / "rule.cubin");
  return good ? "" : "ptxas: " + read(folder / "said");
}

}  // namespace

TEST_CASE("ptxas assembles the rules of the standard library") {
  if (std::string(LOOP_PTXAS).empty()) {
    MESSAGE("skipped: no ptxas (CUDA toolkit)");
    return;
  }
  const fs::path folder = fs::temp_directory_path() / ("loop_ptx_" + std::to_string(std::rand()));
  fs::create_directories(folder);
  int rules = 0;
  for (const auto& file : fs::directory_iterator(LOOP_SOURCE_DIR "/stdlib/optimizers")) {
    const plan::UpdateRule& rule = standard_rule(file.path().stem().string());
    CAPTURE(rule.name);
    CHECK(complaint(folder, kernels::to_ptx(rule, kernels::Element::f32, 9, 0), "sm_90") == "");
    CHECK(complaint(folder, kernels::to_ptx(rule, kernels::Element::f64, 8, 0), "sm_80") == "");
    ++rules;
  }
  CHECK(rules >= 12);
  // The assembler does read it.
  std::string broken = kernels::to_ptx(standard_rule("sgd"), kernels::Element::f32, 9, 0);
  broken.insert(broken.rfind("ret;"), "add.f32 nothing, nothing, nothing;\n");
  CHECK(complaint(folder, broken, "sm_90") != "");
  fs::remove_all(folder);
}

}  // namespace loop::testing
