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

/// What ℓ_i is:
///  - cross_entropy, z_loss: one value per integer target (a token, or the class of a sample);
///  - mse, l1, bce_with_logits: one value per sample, the mean over the elements of its target, so that
///    `mse() per samples` is PyTorch's mean reduction when every element counts.
/// A target that is padding, equal to `ignore`, or in a row that `Batch::valid` excludes is neither summed
/// nor counted.
class Loss {
 public:
  virtual ~Loss() = default;
  /// Σ ℓ_i over this batch's counted units, a scalar connected to `outputs` even when nothing counts (then
  /// 0). Throws loop::Error (findings) when outputs and targets do not fit together.
  virtual torch::Tensor sum(const torch::Tensor& outputs, const Batch& batch) const = 0;
  /// Counted elements of this batch in the loss's own unit: targets neither padding nor ignored.
  virtual int64_t elements(const Batch& batch) const = 0;
  /// n_rk of this loss's term: `count_units`, except for units that only the loss knows (`per class_weight`:
  /// the summed weights of the counted targets).
  virtual double count(const plan::CountClass& count_class, const Batch& batch) const;
};

/// Throws loop::Error (findings) for an unknown name or arguments.
std::unique_ptr<Loss> make_loss(const plan::Component& component);

/// n_rk of one count class: tokens (targets that count; a real-valued target, whatever its length, is one),
/// samples (rows with at least one target that counts), positions (elements read, padding included).
/// constant, window and micro_batch: 1 where anything counts, else 0; a sum above 0 over the window then
/// stands for N = the constant, or 1; for micro_batch it is N. Throws loop::Error (findings) for boxes and
/// class_weight, which a batch alone does not hold.
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
/// "accuracy" (share of counted targets whose class has the largest output; for real-valued targets of the
/// outputs' shape, share of elements on the right side of 0 and ½), "mse" and "l1" (means over samples, as
/// the losses); null for an unknown name. Differentiates nothing.
std::unique_ptr<Metric> make_metric(const std::string& name, std::optional<int64_t> ignore);

}  // namespace loop
