#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "compiler/diagnostics/render.h"

namespace loop::diagnostics {

bool want_color(int file_descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* terminal = std::getenv("TERM");
  if (terminal == nullptr || std::string_view(terminal) == "dumb") return false;
  return isatty(file_descriptor) == 1;
}

}  // namespace loop::diagnostics
