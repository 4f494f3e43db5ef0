#include "compiler/driver/foreground_runtime.h"

#include <csignal>
#include <cstring>
#include <system_error>

#include "compiler/driver/exit_codes.h"
#include "compiler/driver/process.h"
#include "runtime/plan/json.h"

namespace loop::driver {
namespace {

/// What the end of the runtime means for our own exit status.
int status_of(const Ended& ended, Context& context) {
  if (ended.signal == 0) return ended.status;
  if (ended.signal == SIGINT || ended.signal == SIGTERM || ended.signal == SIGHUP) return kInterrupted;
  context.err << "loopc: the runtime was ended by signal " << ended.signal << " ("
              << ::strsignal(ended.signal) << ")\n";
  if (ended.signal == SIGKILL) {
    context.err << "loopc: the system does this when memory runs out; a smaller `micro_batch` needs less\n";
    return kTrainingFailed;
  }
  return kInternal;
}

}  // namespace

int run_runtime(const std::vector<std::string>& command, const plan::Plan& plan, Context& context) {
  const std::string text = plan::to_json(plan).dump();
  context.out.flush();
  context.err.flush();
  try {
    return status_of(run_in_foreground(command, text), context);
  } catch (const std::system_error& error) {
    throw InstallationError("the runtime cannot be started: " + std::string(error.what()));
  }
}

}  // namespace loop::driver
