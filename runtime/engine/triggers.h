// When `every` fires and when a run stops.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loop/clocks.h"
#include "runtime/plan/plan.h"

namespace loop::engine {

/// `every = 200 updates or 10 min`: fires once per multiple of a value on its clock. A clock that stands
/// still (a skipped update) does not fire again; one that passes several multiples at once fires once.
class Every {
 public:
  explicit Every(std::vector<plan::Trigger> triggers);
  bool empty() const { return triggers_.empty(); }
  /// True when a multiple was reached since the last call.
  bool fires(const Clocks& clocks);

 private:
  std::vector<plan::Trigger> triggers_;
  std::vector<double> passed_;  // multiples passed so far, per trigger
};

/// "1000 updates", "1.5 h": a trigger as a person would write it.
std::string to_text(const plan::Trigger& trigger);

/// The conditions of `stop`; any of them ends the run.
class StopConditions {
 public:
  explicit StopConditions(std::vector<plan::StopCondition> conditions);
  /// Notes a held-out metric ("held_out.loss") for `no_better`.
  void evaluated(const std::string& metric, double value);
  /// The first condition that holds, in words; nothing while none does.
  std::optional<std::string> reached(const Clocks& clocks) const;
  /// The number of whole epochs after which the data ends, if epochs bound the run.
  std::optional<int64_t> last_epoch() const;

 private:
  struct Watch {
    plan::StopCondition condition;
    std::optional<double> best;
    int64_t evaluations_since_best = 0;
  };
  std::vector<Watch> watches_;
};

/// True for metrics of which more is better ("accuracy"). `metric` may carry an evaluation's name in front.
bool larger_is_better(const std::string& metric);

}  // namespace loop::engine
