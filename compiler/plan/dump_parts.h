// A plan's parts in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace loop::planner {

std::string number_text(double value);
/// "1 sample", "8 samples".
std::string count_text(double count, const std::string& one, const std::string& many = {});
/// "12.5 MiB"
std::string bytes_text(double bytes);
/// "32" with a fixed number of ranks (already multiplied in), else "32 × R".
std::string times_ranks(double per_rank_or_all, const plan::Plan& plan);

/// `gpt(layers: 4, heads: 4)`
std::string component_text(const plan::Component& component);
std::string predicate_text(const plan::Predicate& predicate);
std::string trigger_text(const plan::Trigger& trigger);
std::string triggers_text(const std::vector<plan::Trigger>& triggers);
std::string window_size_text(const plan::WindowSize& size);
std::string tail_text(plan::Tail tail);
std::string nonfinite_text(const plan::Nonfinite& nonfinite);
std::string reduction_text(const plan::Window& window);
/// "N = counted tokens of the window, over all ranks"
std::string denominator_text(const plan::CountClass& count_class);
/// The operation without hyper-parameters that follow a clock: they stand under "schedules".
std::string operation_text(const plan::Operation& operation);
/// What the plan's passes made of it; empty for nothing.
std::string fold_text(const plan::Operation& operation);
std::string stop_text(const plan::StopCondition& stop);
std::string evaluation_text(const plan::Evaluation& evaluation);
std::string checkpoint_text(const plan::Checkpoint& checkpoint);
std::string log_text(const plan::Plan& plan);

/// Counted tokens of each training sample, where the source cuts all to one length.
std::optional<double> tokens_per_sample(const plan::Plan& plan);

double bytes_per_number(plan::Dtype dtype);
/// Numbers of state per trainable parameter; `least` and `most` differ when the steps' rules do.
struct StateCount {
  bool known = false;  // there is a step
  double least = 0;
  double most = 0;
};
StateCount states_per_parameter(const plan::Plan& plan);

struct SchedulePoints {
  std::string name;    // "lr on decayed"
  std::string points;  // "0.00002 at 0, 0.002 at 100, … updates"
};
/// Hyper-parameters that follow a clock, at the start, at quarters and at the end. `horizon`: 0 when unknown.
std::vector<SchedulePoints> schedule_points(const plan::Plan& plan, int64_t horizon);

}  // namespace loop::planner
