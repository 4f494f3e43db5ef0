#include "runtime/engine/variables.h"

#include <algorithm>

#include "loop/error.h"

namespace loop::engine {

namespace {

/// The class that counts `unit`, if the plan has one.
std::optional<size_t> class_of(const Objective& objective, std::string_view unit) {
  for (size_t i = 0; i < objective.classes().size(); ++i) {
    if (unit == plan::name(objective.classes()[i].unit)) return i;
  }
  return std::nullopt;
}

std::optional<double> count(std::string_view name, const Objective& objective, const WindowState& window,
                            const MicroState* micro) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto count_class = class_of(objective, name.substr(0, dot));
  if (!count_class) return std::nullopt;
  const std::string_view scope = name.substr(dot + 1);
  if (scope == "micro" && micro) return micro->counts[*count_class];
  if (!window.counts_complete) return std::nullopt;
  if (scope == "global") return window.counts[*count_class];
  if (scope == "rank") return window.rank_counts[*count_class];
  return std::nullopt;
}

}  // namespace

plan::Lookup variables(const Clocks& clocks, const Objective& objective, const WindowState& window,
                       const MicroState* micro, int64_t ranks) {
  return [of_clocks = clocks.lookup(window.horizon), &objective, &window, micro,
          ranks](std::string_view name) -> std::optional<double> {
    if (const auto value = of_clocks(name)) return value;
    if (name == "finite") {
      const auto finite = window.finite();
      return finite ? std::optional<double>(*finite) : std::nullopt;
    }
    if (name == "first" && micro) return micro->first;
    if (name == "last" && micro) return micro->last;
    if (name == "ranks") return static_cast<double>(ranks);
    if (name == "micro_batches.counted") return static_cast<double>(window.micro_batches);
    return count(name, objective, window, micro);
  };
}

double value_of(const plan::Expression& expression, const plan::Lookup& lookup, const std::string& purpose) {
  if (const auto value = plan::evaluate(expression, lookup)) return *value;
  std::string unknown;
  for (const std::string& name : plan::variables(expression)) {
    if (!lookup(name)) unknown += (unknown.empty() ? "" : ", ") + name;
  }
  throw Error(ErrorKind::internal, purpose + " reads " + unknown + ", which has no value here");
}

}  // namespace loop::engine
