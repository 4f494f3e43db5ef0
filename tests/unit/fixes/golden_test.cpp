// Whole specs before and after `--fix`: tests/golden/fixes/NAME.before.loop and NAME.after.loop.
// LOOP_UPDATE_GOLDEN=1 writes the latter anew.
#include <algorithm>

#include "tests/support/golden.h"
#include "tests/unit/fixes/support.h"

using namespace loop;
using namespace loop::tests;

TEST_CASE("golden: what `loopc check --fix` makes of a text") {
  std::vector<fs::path> befores;
  for (const auto& entry : fs::directory_iterator(kRoot / "tests" / "golden" / "fixes")) {
    if (entry.path().string().ends_with(".before.loop")) befores.push_back(entry.path());
  }
  REQUIRE(!befores.empty());
  std::sort(befores.begin(), befores.end());
  for (const fs::path& before : befores) {
    CAPTURE(before.string());
    std::string name = before.string();
    const fs::path golden = name.replace(name.rfind(".before.loop"), std::string::npos, ".after.loop");
    const fixes::Fixed fixed = check_repair(read(before));
    // The file is named by what is repaired.
    const std::string code = before.filename().string().substr(0, 4);
    CHECK(judge(read(before)).counts.contains(code));
    CHECK(!judge(fixed.text).counts.contains(code));
    loop::testing::check_golden(golden, fixed.text);
  }
}
