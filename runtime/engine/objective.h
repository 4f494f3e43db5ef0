// The objective Σ_t (w_t / N_t) · Σ ℓ_ti: its terms, what they count, and how a micro-batch's sums become a
// loss.
#pragma once

#include <memory>
#include <vector>

#include "loop/loss.h"
#include "runtime/plan/plan.h"

namespace loop::engine {

/// Counted units, one entry per count class of the objective.
using Counts = std::vector<double>;
void add(Counts& total, const Counts& part);

class Objective {
 public:
  /// Throws loop::Error (findings) for a loss that does not exist or does not understand its arguments.
  Objective(std::vector<plan::LossTerm> terms, std::vector<plan::CountClass> classes, int64_t ranks = 1);

  const std::vector<plan::LossTerm>& terms() const { return terms_; }
  const std::vector<plan::CountClass>& classes() const { return classes_; }
  int64_t ranks() const { return ranks_; }
  Counts no_counts() const { return Counts(classes_.size(), 0); }

  /// n_rk of every class, as the loss of its first term counts.
  Counts count(const Batch& batch) const;
  /// Nothing counted in any class.
  bool empty(const Counts& window) const;
  /// N_t as the objective divides by it: the window's count, not below `at_least`; the constant of `per 64`;
  /// 1 for `per window`.
  double divisor(size_t count_class, const Counts& window) const;
  bool terms_share_one_class() const;
  /// False for `per 64` and `per window`, which say nothing about a held-out set.
  bool divides_by_count(size_t term) const;

  /// A micro-batch's terms: scalars connected to the outputs. Outputs in bf16 or fp16 are taken to fp32 first,
  /// in which their losses are summed.
  struct Terms {
    std::vector<torch::Tensor> values;  // Σ ℓ_t; for `per micro_batch` the mean of ℓ_t
    std::vector<double> elements;  // counted elements; only for terms whose value or mean needs them, else 0
  };
  Terms evaluate(const torch::Tensor& outputs, const Batch& batch, plan::LossMode mode) const;
  /// Σ_t w_t · value_t, each divided as `mode` says: by nothing, by this micro-batch's count (0 for none), or
  /// by the window's N_t.
  torch::Tensor combine(const Terms& terms, plan::LossMode mode, const Counts& micro,
                        const Counts& window) const;
  /// Counted elements of a term's targets, whatever the term is divided by.
  int64_t elements(size_t term, const Batch& batch) const { return losses_[term]->elements(batch); }

 private:
  plan::CountUnit unit(size_t term) const { return classes_[terms_[term].count_class].unit; }

  std::vector<plan::LossTerm> terms_;
  std::vector<plan::CountClass> classes_;
  std::vector<std::unique_ptr<Loss>> losses_;  // one per term
  std::vector<const Loss*> counters_;          // one per class
  int64_t ranks_;
};

}  // namespace loop::engine
