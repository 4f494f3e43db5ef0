#include "compiler/driver/runtime_command.h"

#include <iomanip>
#include <sstream>

#include "compiler/driver/context.h"
#include "compiler/driver/resources.h"

namespace loop::driver {
namespace {

constexpr const char* kPlanOnStandardInput = "/dev/stdin";

}  // namespace

std::filesystem::path require_looprun() {
  if (const auto found = looprun_path()) return *found;
  throw InstallationError("the runtime `looprun` is not in `" + executable_dir().string() +
                          "`; build it with LibTorch (LOOP_WITH_TORCH=ON), see `loopc doctor`");
}

std::vector<std::string> train_command(const std::filesystem::path& looprun, const std::string& out,
                                       std::optional<int64_t> ranks) {
  std::vector<std::string> command = {looprun.string(), "--plan", kPlanOnStandardInput};
  if (!out.empty()) command.insert(command.end(), {"--out", out});
  if (ranks) command.insert(command.end(), {"--ranks", std::to_string(*ranks)});
  return command;
}

std::vector<std::string> facts_command(const std::filesystem::path& looprun) {
  return {looprun.string(), "--plan", kPlanOnStandardInput, "--facts"};
}

std::vector<std::string> verify_command(const std::filesystem::path& looprun, const VerifyRequest& request) {
  std::vector<std::string> command = {looprun.string(), "--plan",   kPlanOnStandardInput,
                                      "--verify",       "--window", request.window};
  const auto add = [&command](const char* option, const std::string& value) {
    command.insert(command.end(), {option, value});
  };
  if (request.ranks) add("--simulate-ranks", std::to_string(*request.ranks));
  if (request.tolerance) {
    std::ostringstream digits;
    digits << std::setprecision(17) << *request.tolerance;
    add("--tolerance", digits.str());
  }
  if (!request.data_dir.empty()) add("--data-dir", request.data_dir);
  if (request.json) command.emplace_back("--json");
  return command;
}

std::vector<std::string> version_command(const std::filesystem::path& looprun) {
  return {looprun.string(), "--version-json"};
}

}  // namespace loop::driver
