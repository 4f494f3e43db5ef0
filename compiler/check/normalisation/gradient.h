// The accumulated gradient as the algebra sees it: which micro-batches of which window are in it, with which
// factor, and whether each part is this rank's own or already the sum over all ranks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/check/normalisation/monomial.h"
#include "compiler/sema/spec.h"

namespace loop::check {

/// One power in a factor and the operation that put it there.
struct Origin {
  const sema::Operation* operation = nullptr;
  Monomial factor;
};

/// One summand of a part's factor.
struct Summand {
  Monomial factor;
  std::vector<Origin> origins;
};

struct Part {
  int window = 0;  // counted from 0
  int micro = 1;   // counted from 1
  int count_class = 0;
  bool replicated = false;
  bool nonfinite = false;
  int reductions = 0;  // how often it went through a reduction
  std::vector<Summand> summands;
};

/// A loss before backward: per count class, the factor it carries.
struct LossValue {
  std::vector<std::vector<Summand>> per_class;
};

class Gradient {
 public:
  const std::vector<Part>& parts() const { return *parts_; }
  bool empty() const { return parts_->empty(); }
  bool finite() const;
  /// The operation that has divided by a count of zero, and so made every element, zeros too, not a
  /// number; null when none has since the gradient was last zeroed.
  const sema::Operation* spoiled_by() const { return spoiled_by_; }
  void spoil(const sema::Operation* operation) {
    if (!spoiled_by_) spoiled_by_ = operation;
  }

  void add(int window, int micro, const LossValue& loss, bool nonfinite);
  void clear() {
    parts_ = std::make_shared<std::vector<Part>>();
    spoiled_by_ = nullptr;
  }
  /// Removes what older windows left.
  void drop_before(int window);
  /// Multiplies everything. On a replicated part a rank's own count is the holder's, no longer the
  /// contribution's.
  void multiply(const Monomial& factor, const sema::Operation* operation);
  /// Local ×1 (mean: 1/R), replicated ×R (mean: 1). `only_new` leaves replicated parts alone. One rank has
  /// nothing to reduce with.
  void reduce(plan::ReduceMode mode, const sema::Operation* operation, bool only_new, bool one_rank = false);

 private:
  /// Copies share the parts until one of them changes: a trace keeps the gradient at each of its events.
  std::vector<Part>& own_parts();

  std::shared_ptr<std::vector<Part>> parts_ = std::make_shared<std::vector<Part>>();
  const sema::Operation* spoiled_by_ = nullptr;
};

/// Multiplies a factor onto every summand.
void multiply(std::vector<Summand>& summands, const Monomial& factor, const sema::Operation* operation);

/// A written factor as a monomial; `scale_reading` numbers the loss scale's value at this place.
Monomial to_monomial(const plan::Factor& factor, int scale_reading);

}  // namespace loop::check
