// What the standard output can show.
#pragma once

namespace loop::telemetry {

struct Terminal {
  bool interactive = false;  // a line can be redrawn
  int width = 80;            // columns
};

/// A terminal that is not dumb, with NO_COLOR unset, is interactive. Its width is asked for anew at every
/// call.
Terminal standard_output();

}  // namespace loop::telemetry
