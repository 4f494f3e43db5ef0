// Models and data whose losses and gradients a test can choose: for cases that are told in numbers.
#pragma once

#include "tiny_run.h"

namespace loop::testing {

/// Rows x with the target -1/2 for the model ⟨θ, x⟩ with θ = 0 at first: with mse, the gradient of one row is
/// x. A row whose last element is `kRoot` goes through √ at 0 instead: its loss is finite (1/4), its gradient
/// is not. A row with an infinite element makes loss and gradient infinite or NaN.
inline constexpr double kRoot = 777;
using Rows = std::vector<std::vector<double>>;

/// A run of "designed" rows: FP64, sequential, mse per samples, micro-batches of one row. Adjust `plan`
/// before.
plan::Plan designed_plan();
std::unique_ptr<TinyRun> designed_run(
    plan::Plan plan, Rows rows, Rows held_out = {},
    std::shared_ptr<distributed::Communicator> ranks = distributed::alone());

/// θ of such a run.
std::vector<double> theta(const TinyRun& run);

/// Sequences whose positions have the cross entropies a test names: {{2, 2, 2}, {1}} are two samples.
std::unique_ptr<TinyRun> run_with_losses(plan::Plan plan, const std::vector<std::vector<double>>& losses);

/// The most graphs of forward passes that were alive at one time since the last call.
int64_t most_live_graphs();

}  // namespace loop::testing
