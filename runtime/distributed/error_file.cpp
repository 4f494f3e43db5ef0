#include "runtime/distributed/error_file.h"

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace loop::distributed {

void write_error_file(const Error& error) noexcept {
  const char* path = std::getenv("TORCHELASTIC_ERROR_FILE");
  if (!path || !*path) return;
  try {
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    std::string text = error.what();
    if (!error.repair().empty()) text += "; help: " + error.repair();
    const nlohmann::json document = {
        {"message",
         {{"message", text},
          {"errorCode", error.exit_code()},
          {"extraInfo", {{"py_callstack", ""}, {"timestamp", std::to_string(std::time(nullptr))}}}}}};
    std::ofstream(path) << document.dump() << '\n';
  } catch (const std::exception&) {
    // the message is on the standard error already
  }
}

}  // namespace loop::distributed
