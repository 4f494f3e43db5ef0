// Checking many files at once, with the same result whatever the number of threads.
#pragma once

#include <istream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/driver/pipeline.h"
#include "compiler/driver/settings.h"
#include "compiler/driver/spec_files.h"

namespace loop::driver {

struct CheckRequest {
  std::vector<std::string> overrides;
  bool look_for_data = false;
  size_t jobs = 0;                           // threads at most; 0: one per processor
  std::map<std::string, std::string> texts;  // by path: checked in the place of what the files hold
};

/// One file and everything said about it. Files that it uses are in its compilation too.
struct CheckedFile {
  std::string path;                    // `-` is standard input
  const Settings* settings = nullptr;  // of the spec, never null
  Compilation compilation;
};

/// In the order of `files`. Throws the UsageError of the first file that cannot be read, or whose settings
/// are wrong. The results refer to `settings`.
std::vector<std::unique_ptr<CheckedFile>> check_files(const std::vector<SpecFile>& files,
                                                      const CheckRequest& request, SettingsOfFiles& settings,
                                                      std::istream& in);

}  // namespace loop::driver
