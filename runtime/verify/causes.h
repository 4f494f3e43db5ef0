// Why the two gradients differ, found by experiment, in the order in which such a fault is best looked for.
#pragma once

#include <string>
#include <vector>

#include "runtime/verify/factors.h"

namespace loop::verify {

struct Check {
  enum class Verdict { same, differs, not_measured };
  std::string name;   // stable: "samples_and_mask", "loss_reduction", …
  std::string title;  // for a person
  Verdict verdict = Verdict::same;
  std::string evidence;  // with numbers
};

struct Diagnosis {
  std::vector<Check> checks;
  std::optional<Factors> factors;
  /// Name of the first check that differs, or "unknown".
  std::string cause() const;
};

/// `spec`: the gradient that differs, of rank `rank`; its error against the reference is `error`.
Diagnosis find_cause(const Setting& setting, const BigBatch& big, const SpecGradient& spec, size_t rank,
                     double error, double tolerance);

}  // namespace loop::verify
