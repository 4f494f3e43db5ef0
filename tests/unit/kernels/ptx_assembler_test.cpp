// The PTX of every rule of the standard library, as NVIDIA's assembler sees it. It needs no GPU.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "compiler/kernels/compiled_rule.h"
#include "tests/support/standard_rules.h"
#include "tests/support/temporary_folder.h"

namespace loop::testing {
namespace {

namespace fs = std::filesystem;

/// What ptxas says against a text; nothing when it makes device code of it.
std::string complaint(const std::string& ptx, const std::string& target) {
  const TemporaryFolder folder;
  const std::string command = "'" LOOP_PTXAS "' --warning-as-error -arch=" + target + " -o '" +
                              folder.path("rule.cubin") + "' '" + folder.write("rule.ptx", ptx) + "' > '" +
                              folder.path("said") + "' 2>&1";
  const bool good = std::system(command.c_str()) == 0 && fs::exists(folder.path("rule.cubin"));
  return good ? "" : "ptxas: " + folder.text("said");
}

}  // namespace

TEST_CASE("ptxas assembles the rules of the standard library") {
  if (std::string(LOOP_PTXAS).empty()) {
    MESSAGE("skipped: no ptxas (CUDA toolkit)");
    return;
  }
  int rules = 0;
  for (const auto& file : fs::directory_iterator(LOOP_SOURCE_DIR "/stdlib/optimizers")) {
    const plan::UpdateRule& rule = standard_rule(file.path().stem().string());
    CAPTURE(rule.name);
    CHECK(complaint(kernels::to_ptx(rule, kernels::Element::f32, 9, 0), "sm_90") == "");
    CHECK(complaint(kernels::to_ptx(rule, kernels::Element::f64, 8, 0), "sm_80") == "");
    ++rules;
  }
  CHECK(rules >= 12);
  // The assembler does read it.
  std::string broken = kernels::to_ptx(standard_rule("sgd"), kernels::Element::f32, 9, 0);
  broken.insert(broken.rfind("ret;"), "add.f32 nothing, nothing, nothing;\n");
  CHECK(complaint(broken, "sm_90") != "");
}

}  // namespace loop::testing
