#include "runtime/engine/run_directory.h"

#include <cerrno>
#include <cstdio>
#include <fstream>

#include "loop/error.h"
#include "runtime/plan/json.h"

namespace loop::engine {

namespace fs = std::filesystem;

namespace {

constexpr const char* kRepair = "choose another folder: log { path = … } or --out";

void save(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw Error(ErrorKind::usage, "cannot write " + file.string(), kRepair);
}

/// Claims the folder; false when it holds something. Two runs that start together cannot both claim one,
/// since only one of them creates its plan file.
bool claim(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw Error(ErrorKind::usage, "cannot make the folder " + folder.string() + ": " + error.message(),
                kRepair);
  const bool empty = fs::is_empty(folder, error);
  if (error)
    throw Error(ErrorKind::usage, "cannot read the folder " + folder.string() + ": " + error.message(),
                kRepair);
  if (!empty) return false;
  std::FILE* created = std::fopen((folder / "plan.json").c_str(), "wx");
  if (!created) {
    if (errno == EEXIST) return false;
    throw Error(ErrorKind::usage, "cannot write into the folder " + folder.string(), kRepair);
  }
  std::fclose(created);
  return true;
}

/// NAME, NAME-2, NAME-3 …
fs::path candidate(const plan::Plan& plan, const fs::path& out, int number) {
  fs::path folder = wanted_run_directory(plan, out);
  if (!folder.has_filename()) folder = folder.parent_path();  // "runs/x/" names the folder x
  if (number > 1) {
    folder += '-';
    folder += std::to_string(number);
  }
  return folder;
}

}  // namespace

fs::path wanted_run_directory(const plan::Plan& plan, const fs::path& out) {
  if (!out.empty()) return out;
  if (!plan.log.path.empty()) return plan.log.path;
  return fs::path("runs") / plan.loop_name;
}

std::vector<fs::path> earlier_run_directories(const plan::Plan& plan, const fs::path& out) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (int number = 1; fs::is_directory(candidate(plan, out, number), error); ++number)
    folders.push_back(candidate(plan, out, number));
  return folders;
}

fs::path make_run_directory(const plan::Plan& plan, const fs::path& out) {
  int number = 1;
  while (!claim(candidate(plan, out, number))) ++number;
  const fs::path folder = candidate(plan, out, number);
  save(folder / "plan.json", plan::to_json(plan).dump(2) + "\n");
  save(folder / "spec.loop", plan.resolved_spec);
  return folder;
}

}  // namespace loop::engine
