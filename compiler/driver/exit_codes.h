// What the process' exit status says. Part of the command line's contract: scripts rely on it.
#pragma once

namespace loop::driver {

inline constexpr int kDone = 0;
inline constexpr int kFindings = 1;  // errors in the user's files
inline constexpr int kUsage = 2;     // wrong flags, files that cannot be read or written
inline constexpr int kInternal = 3;  // a broken invariant of ours or a broken installation
inline constexpr int kTrainingFailed = 4;
inline constexpr int kRanksLost = 5;  // another process of the run is gone or no longer agrees
inline constexpr int kInterrupted = 130;

}  // namespace loop::driver
