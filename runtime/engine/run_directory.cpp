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

}  // namespace

fs::path wanted_run_directory(const plan::Plan& plan, const fs::path& out) {
  if (!out.empty()) return out;
  if (!plan.log.path.empty()) return plan.log.path;
  return fs::path("runs") / plan.loop_name;
}

fs::path make_run_directory(const plan::Plan& plan, const fs::path& out) {
  fs::path wanted = wanted_run_directory(plan, out);
  if (!wanted.has_filename()) wanted = wanted.parent_path();  // "runs/x/" names the folder x
  fs::path folder = wanted;
  for (int number = 2; !claim(folder); ++number) {
    folder = wanted;
    folder += '-';
    folder += std::to_string(number);
  }
  save(folder / "plan.json", plan::to_json(plan).dump(2) + "\n");
  save(folder / "spec.loop", plan.resolved_spec);
  return folder;
}

}  // namespace loop::engine
