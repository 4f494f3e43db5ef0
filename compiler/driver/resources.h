// Where the files that belong to loopc are: beside the executable when installed or built, else where the
// build found them.
#pragma once

#include <filesystem>
#include <optional>

namespace loop::driver {

/// The folder of the running executable; empty when the system does not tell.
std::filesystem::path executable_dir();

/// `std.*` modules. Looked for in $LOOP_HOME/stdlib, `../../stdlib` and `../share/loop/stdlib` from the
/// executable, and the source tree of the build. The last one when none exists.
std::filesystem::path stdlib_dir();

/// Pages of the findings, `Lnnn.md`; searched in the same way (`docs/errors`, installed as
/// `share/loop/errors`). Empty when there is no such folder.
std::filesystem::path error_pages_dir();

/// The runtime's executable beside this one, if it is there.
std::optional<std::filesystem::path> looprun_path();

}  // namespace loop::driver
