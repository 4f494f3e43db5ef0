#include "compiler/driver/spec_files.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "compiler/driver/context.h"
#include "compiler/driver/text_file.h"

namespace loop::driver {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void cannot_read(const std::string& path, const std::error_code& error) {
  throw UsageError("cannot read `" + path + "`: " + error.message());
}

/// Folders like `.git` hold nothing of a user's; a link may lead back to where the search came from.
void search(const fs::path& folder, std::vector<SpecFile>& found) {
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  if (error) cannot_read(folder.string(), error);
  for (; entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code unknown;
    const std::string name = entry->path().filename().string();
    if (entry->is_directory(unknown)) {
      if (name.front() == '.') entry.disable_recursion_pending();
    } else if (entry->path().extension() == ".loop" && entry->is_regular_file(unknown)) {
      found.push_back({entry->path().lexically_normal().string(), true});
    }
  }
  if (error) cannot_read(folder.string(), error);
}

}  // namespace

std::vector<SpecFile> spec_files(const std::vector<std::string>& given) {
  std::vector<SpecFile> found;
  for (const std::string& path : given) {
    std::error_code error;
    if (path == kStandardInput || !fs::is_directory(path, error)) {
      found.push_back({path, false});
      continue;
    }
    const size_t before = found.size();
    search(path, found);
    if (found.size() == before) throw UsageError("the folder `" + path + "` has no `.loop` files");
  }
  // One that is named itself comes before the same one found by searching: it is held to be a spec.
  std::sort(found.begin(), found.end(), [](const SpecFile& a, const SpecFile& b) {
    return std::tie(a.path, a.searched) < std::tie(b.path, b.searched);
  });
  std::vector<SpecFile> kept;
  std::map<std::string, size_t> seen;  // by the file's one true path
  for (SpecFile& file : found) {
    std::error_code error;
    const fs::path canonical = file.path == kStandardInput ? fs::path() : fs::canonical(file.path, error);
    const std::string key = error || canonical.empty() ? file.path : canonical.string();
    const auto [at, first] = seen.emplace(key, kept.size());
    if (first) {
      kept.push_back(std::move(file));
    } else {
      kept[at->second].searched = kept[at->second].searched && file.searched;
    }
  }
  return kept;
}

}  // namespace loop::driver
