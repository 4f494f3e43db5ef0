// Memory that the window's end reads and writes.
#pragma once

#include "runtime/plan/plan.h"

namespace loop::planner {

/// Bytes per trainable parameter and window, the operations under `when` left out; a clip counts as active.
/// `least` and `most` differ when the steps' rules do.
struct UpdateTraffic {
  double least = 0;
  double most = 0;
};
UpdateTraffic update_traffic(const plan::Plan& plan);

}  // namespace loop::planner
