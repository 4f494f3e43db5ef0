// Which files a command is about: files and folders as given become a list without repetitions.
#pragma once

#include <string>
#include <vector>

namespace loop::driver {

struct SpecFile {
  std::string path;       // as shown: as given, or below the folder that was given
  bool searched = false;  // found in a folder, not named itself
};

/// Folders are searched for `*.loop`, hidden folders and linked ones left out; `-` is standard input. Sorted
/// by path; a file that is given twice, under whatever names, comes once. Throws UsageError for a path that
/// does not exist and for a folder that has no specs.
std::vector<SpecFile> spec_files(const std::vector<std::string>& given);

}  // namespace loop::driver
