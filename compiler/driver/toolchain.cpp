#include "compiler/driver/toolchain.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>

#include "compiler/driver/process.h"
#include "compiler/driver/resources.h"
#include "compiler/driver/runtime_command.h"
#include "loop_versions.h"

namespace loop::driver {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::seconds kPatience{20};  // a cold start of LibTorch from a slow disk

std::string without_newline(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::optional<std::string> first_match(const std::string& text, const char* pattern) {
  std::smatch match;
  if (!std::regex_search(text, match, std::regex(pattern))) return std::nullopt;
  return match[1].str();
}

Finding folder(const std::string& part, const fs::path& place, const std::string& needed_for) {
  std::error_code error;
  if (!place.empty() && fs::is_directory(place, error)) return {part, place.string(), State::good, ""};
  return {part, "", State::wrong, needed_for + "; set LOOP_HOME to the folder of the project"};
}

Finding compiler() {
  return {"compiler", LOOP_COMPILER, State::good, "made this build, " LOOP_BUILD_TYPE};
}

Finding antlr() {
  // The shared library is linked, so it is there; its file name holds its version.
  std::error_code error;
  const fs::path library = fs::canonical(LOOP_ANTLR_LIBRARY, error);
  const std::string name = error ? std::string(LOOP_ANTLR_LIBRARY) : library.filename().string();
  Finding finding{"ANTLR", "runtime " + first_match(name, R"((\d+\.\d+(\.\d+)*))").value_or(name),
                  State::good, ""};
  const Answer tool = ask({LOOP_ANTLR_TOOL}, kPatience);
  const auto version = first_match(tool.output + tool.errors, R"(Version (\d+(\.\d+)+))");
  finding.found += version ? ", tool " + *version : "";
  finding.remark =
      version ? "reads spec files" : "reads spec files; the tool `antlr4` is needed to build only";
  return finding;
}

Finding cuda_toolkit() {
  std::vector<std::string> places = {"nvcc"};
  const char* home = std::getenv("CUDA_HOME");
  if (home != nullptr && *home != '\0') places.insert(places.begin(), std::string(home) + "/bin/nvcc");
  places.emplace_back("/usr/local/cuda/bin/nvcc");
  for (const std::string& nvcc : places) {
    const Answer answer = ask({nvcc, "--version"}, kPatience);
    if (!answer.good()) continue;
    return {"CUDA toolkit", first_match(answer.output, R"(V(\d+(\.\d+)+))").value_or("of unknown version"),
            State::good, "not used by this build: it trains on the CPU"};
  }
  return {"CUDA toolkit", "", State::absent, "not used by this build: it trains on the CPU"};
}

/// LibTorch's wheel brings NCCL beside itself.
Finding nccl() {
  const fs::path header = fs::path(LOOP_TORCH_ROOT) / ".." / "nvidia" / "nccl" / "include" / "nccl.h";
  std::ifstream file(header);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto major = first_match(text, R"(#define NCCL_MAJOR (\d+))");
  const auto minor = first_match(text, R"(#define NCCL_MINOR (\d+))");
  const auto patch = first_match(text, R"(#define NCCL_PATCH (\d+))");
  const std::string remark = "not used by this build: ranks on CPUs meet over Gloo";
  if (!major || !minor || !patch) return {"NCCL", "", State::absent, remark};
  return {"NCCL", *major + "." + *minor + "." + *patch, State::good, remark};
}

std::string shown(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Linked into the runtime, which alone knows its version.
Finding llvm(const std::string& version) {
  return {"LLVM", version, version.empty() ? State::absent : State::good,
          "compiles update rules, within the runtime"};
}

/// The runtime and the LibTorch it really loads, which may differ from the one of the build.
std::vector<Finding> runtime() {
  const std::string of_build = LOOP_TORCH_VERSION;
  const auto path = looprun_path();
  if (!path) {
    const std::string repair = "without it nothing can be trained; build with LibTorch (LOOP_WITH_TORCH=ON)";
    return {{"runtime", "", State::wrong, "`looprun` is not in " + executable_dir().string() + ": " + repair},
            {"LibTorch", of_build, of_build.empty() ? State::absent : State::good,
             of_build.empty() ? "this build was made without it" : "found when this was built"},
            llvm("")};
  }
  const Answer answer = ask(version_command(*path), kPatience);
  const auto facts = nlohmann::json::parse(answer.output, nullptr, false);
  if (!answer.good() || !facts.is_object()) {
    const std::string reason = answer.timed_out ? "it gave no answer in time"
                               : answer.ended.signal != 0
                                   ? "it ended by signal " + std::to_string(answer.ended.signal)
                               : !answer.errors.empty() ? without_newline(answer.errors)
                                                        : "its answer cannot be read";
    return {{"runtime", path->string(), State::wrong, "it does not start: " + reason},
            {"LibTorch", of_build, State::wrong, "it could not be loaded"},
            llvm("")};
  }
  std::vector<Finding> findings;
  const std::string version = facts.contains("version") ? shown(facts["version"]) : "";
  Finding runtime{"runtime", version.empty() ? "looprun" : "looprun " + version, State::good, path->string()};
  if (!version.empty() && version != LOOP_VERSION) {
    runtime.state = State::wrong;
    runtime.remark =
        path->string() + " is of another version than loopc " LOOP_VERSION "; build both together";
  }
  findings.push_back(std::move(runtime));
  Finding torch{"LibTorch", facts.contains("torch") ? shown(facts["torch"]) : of_build, State::good, ""};
  for (const auto& [key, value] : facts.items()) {
    if (key == "version" || key == "torch" || key == "llvm" || value.is_null()) continue;
    torch.remark += (torch.remark.empty() ? "" : ", ") + key + " " + shown(value);
  }
  findings.push_back(std::move(torch));
  findings.push_back(llvm(facts.contains("llvm") ? shown(facts["llvm"]) : ""));
  return findings;
}

}  // namespace

std::vector<Finding> examine_installation() {
  std::vector<Finding> findings = {
      {"loopc", LOOP_VERSION " (" LOOP_GIT_REVISION ")", State::good, executable_dir().string()},
      folder("library", stdlib_dir(), "`use std.…` needs it"),
      folder("explanations", error_pages_dir(), "`loopc explain` needs them"),
      compiler(),
      antlr()};
  for (Finding& finding : runtime()) findings.push_back(std::move(finding));
  findings.push_back(cuda_toolkit());
  findings.push_back(nccl());
  return findings;
}

}  // namespace loop::driver
