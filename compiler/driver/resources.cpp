#include "compiler/driver/resources.h"

#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "loop_versions.h"

namespace loop::driver {
namespace fs = std::filesystem;
namespace {

/// `in_tree` is the folder's place in a source tree, `installed` its place below share/loop.
std::vector<fs::path> candidates(const fs::path& in_tree, const fs::path& installed,
                                 const fs::path& of_build) {
  std::vector<fs::path> places;
  const char* home = std::getenv("LOOP_HOME");
  if (home != nullptr && *home != '\0') {  // said explicitly, so it comes first
    places.push_back(fs::path(home) / in_tree);
    places.push_back(fs::path(home) / installed);
  }
  const fs::path beside = executable_dir();
  if (!beside.empty()) {
    places.push_back(beside / ".." / ".." / in_tree);
    places.push_back(beside / ".." / "share" / "loop" / installed);
  }
  places.push_back(of_build);
  return places;
}

fs::path first_folder(const std::vector<fs::path>& places) {
  for (const fs::path& place : places) {
    std::error_code error;
    if (fs::is_directory(place, error)) return place.lexically_normal();
  }
  return {};
}

}  // namespace

fs::path executable_dir() {
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : executable.parent_path();
}

fs::path stdlib_dir() {
  const fs::path found = first_folder(candidates("stdlib", "stdlib", LOOP_STDLIB_DIR));
  return found.empty() ? fs::path(LOOP_STDLIB_DIR) : found;
}

fs::path error_pages_dir() {
  return first_folder(candidates("docs/errors", "errors", LOOP_ERROR_PAGES_DIR));
}

std::optional<fs::path> looprun_path() {
  const fs::path runtime = executable_dir() / "looprun";
  if (::access(runtime.c_str(), X_OK) != 0) return std::nullopt;
  return runtime;
}

}  // namespace loop::driver
