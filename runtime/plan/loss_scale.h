// How far the loss scale is taken down for a window, so that sums over its units stay within fp16's range.
#pragma once

#include <vector>

#include "runtime/plan/operation.h"

namespace loop::plan {

/// A `loss` among these operations is a sum over the micro-batch: its gradient is about N times that of the
/// mean, and fp16 ends at 65504.
bool loss_is_sum(const std::vector<Operation>& micro);

/// The power of two with the smallest ratio to `count`: dividing by it rounds nothing. 1 when nothing is
/// expected to count.
double power_of_two_near(double count);

}  // namespace loop::plan
