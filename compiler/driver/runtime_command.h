// The command line of `looprun`, the runtime's executable: the other end is runtime/looprun/looprun_main.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace loop::driver {

/// `looprun` beside this executable. Throws InstallationError with what to do when it is not there.
std::filesystem::path require_looprun();

/// Executes the plan that comes on standard input. `out` is where the run is recorded; empty: where the plan
/// says. `ranks`: processes to start; nothing leaves it to the environment of a launcher.
std::vector<std::string> train_command(const std::filesystem::path& looprun, const std::string& out,
                                       std::optional<int64_t> ranks = std::nullopt);

/// Looks at data and model of the plan on standard input and prints the counts as JSON.
std::vector<std::string> facts_command(const std::filesystem::path& looprun);

/// What `verify` is asked for; what is absent or empty has the runtime's default.
struct VerifyRequest {
  std::string window = "first";
  std::optional<int64_t> ranks;
  std::optional<double> tolerance;
  std::string data_dir;
  bool json = false;
};

/// Compares one window's gradient of the plan on standard input with one big batch.
std::vector<std::string> verify_command(const std::filesystem::path& looprun, const VerifyRequest& request);

/// Prints versions and devices as JSON.
std::vector<std::string> version_command(const std::filesystem::path& looprun);

}  // namespace loop::driver
