// The folder a run writes to.
#pragma once

#include <filesystem>
#include <vector>

#include "runtime/plan/plan.h"

namespace loop::engine {

/// Makes a folder for this run and saves `plan.json` and `spec.loop` (the loop as resolved) in it. The wanted
/// folder is `out` if given, else `log.path`, else runs/<loop name>, relative to the current folder. A folder
/// that already holds files is left alone: NAME-2, NAME-3 … is taken instead. Throws loop::Error (usage) when
/// nothing can be written.
std::filesystem::path make_run_directory(const plan::Plan& plan, const std::filesystem::path& out);

/// Those that hold earlier runs, the oldest first: the wanted one, NAME-2 …
std::vector<std::filesystem::path> earlier_run_directories(const plan::Plan& plan,
                                                           const std::filesystem::path& out);

/// The folder the plan asks for, whether taken or not.
std::filesystem::path wanted_run_directory(const plan::Plan& plan, const std::filesystem::path& out);

}  // namespace loop::engine
