// Named evaluations on held-out data.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loop/clocks.h"
#include "runtime/engine/averages.h"
#include "runtime/engine/parts.h"
#include "runtime/telemetry/record.h"

namespace loop::engine {

/// One evaluation of the plan. The ranks share the work and all get the same result. Evaluation mode, no
/// gradients, counts and random numbers of its own: training goes on as if it had not happened.
///   loss        Σ_t w_t · Σℓ_t / N_t over everything evaluated; N_t in the term's unit, or its counted
///   elements where the unit
///               is a constant or a window.
///   perplexity  exp(Σℓ / counted elements) of the first term.
///   others      loop::make_metric.
class Evaluator {
 public:
  /// Throws loop::Error (findings) for a metric or an average that does not exist. The references must
  /// outlive it.
  Evaluator(const plan::Evaluation& evaluation, const Parts& parts, Averages& averages);

  const plan::Evaluation& evaluation() const { return evaluation_; }
  /// Nothing when `interrupted` became true on any rank before the end.
  std::optional<telemetry::EvaluationRecord> run(const Clocks& clocks,
                                                 const std::function<bool()>& interrupted) const;

 private:
  const plan::Evaluation& evaluation_;
  const Parts& parts_;
  Averages& averages_;
  std::vector<std::unique_ptr<Metric>> metrics_;  // one per name; null for those that the terms give
};

}  // namespace loop::engine
