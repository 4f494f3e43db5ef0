// Whole specs and what `loopc check` prints for them: tests/golden/diagnostics/NAME.loop and NAME.txt.
// LOOP_UPDATE_GOLDEN=1 writes the texts anew.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "compiler/driver/command.h"
#include "tests/support/golden.h"

namespace fs = std::filesystem;

namespace {

/// Paths are shown as they were given; relative ones make the golden texts the same everywhere.
class WorkingFolder {
 public:
  explicit WorkingFolder(const fs::path& folder) : before_(fs::current_path()) { fs::current_path(folder); }
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;
  ~WorkingFolder() { fs::current_path(before_); }

 private:
  fs::path before_;
};

}  // namespace

TEST_CASE("golden: what `loopc check` prints") {
  const fs::path folder = fs::path(LOOP_SOURCE_DIR) / "tests" / "golden" / "diagnostics";
  const WorkingFolder within(folder);
  std::set<fs::path> specs;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".loop") specs.insert(entry.path().filename());
  }
  REQUIRE(!specs.empty());
  for (const fs::path& spec : specs) {
    CAPTURE(spec.string());
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    const int status = loop::driver::run_command({"check", spec.string()}, in, out, err);
    CHECK(status == (out.str().find("error[") == std::string::npos ? 0 : 1));
    CHECK(err.str().empty());
    // Notes may name places of the library by their whole path.
    const std::string root = std::string(LOOP_SOURCE_DIR) + "/";
    std::string shown = out.str();
    for (size_t at = shown.find(root); at != std::string::npos; at = shown.find(root))
      shown.erase(at, root.size());
    const fs::path golden = fs::path(spec).replace_extension(".txt");
    loop::testing::check_golden(golden, shown);
  }
}
