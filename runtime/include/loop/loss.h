// Losses: sums over counted units, never means. The division by the window's global count happens once,
// elsewhere.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loop/batch.h"
#include "runtime/plan/plan.h"

namespace loop {

class Loss {
 public:
  virtual ~Loss() = default;
  /// Σ ℓ_i over this batch's counted units, a scalar connected to `outputs` even when nothing counts (then
  /// 0).
  virtual torch::Tensor sum(const torch::Tensor& outputs, const Batch& batch) const = 0;
  /// Counted elements of this batch in the loss's own unit: targets neither padding nor ignored.
  virtual int64_t elements(const Batch& batch) const = 0;
};

/// Throws loop::Error (findings) for an unknown name or arguments.
std::unique_ptr<Loss> make_loss(const plan::Component& component);

/// n_rk of one count class: tokens (targets that count), samples (rows with at least one target that counts),
/// positions (elements read), constant, window and micro_batch (1 where anything counts) …
double count_units(const plan::CountClass& count_class, const Batch& batch);

/// A held-out quantity as numerator and denominator: "loss" is handled by the caller, this makes "accuracy"
/// and the like.
struct MetricSum {
  double numerator = 0;
  double denominator = 0;
};
class Metric {
 public:
  virtual ~Metric() = default;
  virtual MetricSum sum(const torch::Tensor& outputs, const Batch& batch) const = 0;
};
/// "accuracy", "mse", "l1"; null for an unknown name.
std::unique_ptr<Metric> make_metric(const std::string& name, std::optional<int64_t> ignore);

}  // namespace loop
