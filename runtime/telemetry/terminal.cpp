#include "runtime/telemetry/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace loop::telemetry {

Terminal standard_output() {
  Terminal terminal;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = !term || std::string_view(term) == "dumb";
  terminal.interactive = isatty(STDOUT_FILENO) && !(no_color && *no_color) && !dumb;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.width = size.ws_col;
  } else if (const char* columns = std::getenv("COLUMNS")) {
    const int width = std::atoi(columns);
    if (width > 0) terminal.width = width;
  }
  return terminal;
}

}  // namespace loop::telemetry
