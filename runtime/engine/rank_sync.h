// Where the window meets the other ranks: reductions of the gradient and the one small vector of the window.
#pragma once

#include <functional>
#include <vector>

#include "runtime/distributed/communicator.h"
#include "runtime/distributed/gradient_sync.h"
#include "runtime/engine/window_state.h"
#include "runtime/plan/plan.h"

namespace loop::engine {

/// What a rank says of itself once per window.
struct RankFlags {
  bool interrupted = false;
  double seconds = 0;  // rank 0's count for all
};

class RankSync {
 public:
  /// All must outlive it. `flags` is asked once per window.
  RankSync(const plan::Plan& plan, gradients::Parameters& parameters, const Objective& objective,
           distributed::Communicator& ranks);

  distributed::Communicator& ranks() const { return ranks_; }
  void on_flags(std::function<RankFlags()> flags) { flags_ = std::move(flags); }

  /// Whether a `forward` here begins a micro-batch that synchronises: as the enclosing `sync_on` says, always
  /// outside one, never under `sync = manual`.
  bool synchronises(const MicroState& micro) const;
  /// Around the backward of a micro-batch that synchronises. What was accumulated before is reduced with it,
  /// as DDP does; under the canonical `sync = every` only the new contribution is.
  void before_backward(const WindowState& window);
  void after_backward(const MicroState& micro, WindowState& window);
  /// Returns when every reduction that was started is in place.
  void finish();
  /// `reduce(sum)`, `reduce(mean)`.
  void reduce(const plan::Operation& operation, WindowState& window);

  /// The small vector: counts, touched bits, losses and flags of all ranks. Nothing to do if no backward or
  /// loss came since the last time.
  void agree(WindowState& window);
  /// N of all ranks from this rank's, before the window's first forward.
  Counts sum_counts(const Counts& mine);
  /// All ranks' gradients are finite. Needs no collective once the gradient is reduced: it is then the same.
  bool all_finite(bool mine, const WindowState& window);
  /// The earliest micro-batch that any rank found, with its rank.
  void agree_on_culprit(Nonfinite& found, int64_t micro_batches);

  /// While one lives, backward passes reduce nothing: the window is run again to look at it.
  class Local {
   public:
    explicit Local(RankSync& sync) : sync_(sync) { sync_.local_ = true; }
    ~Local() { sync_.local_ = false; }
    Local(const Local&) = delete;
    Local& operator=(const Local&) = delete;

   private:
    RankSync& sync_;
  };

 private:
  bool active() const { return ranks_.size() > 1 && !local_; }
  bool only_new_contribution() const {
    return plan_.canonical_micro && plan_.window.sync == plan::Sync::every;
  }

  const plan::Plan& plan_;
  gradients::Parameters& parameters_;
  const Objective& objective_;
  distributed::Communicator& ranks_;
  distributed::GradientSync gradients_;
  std::function<RankFlags()> flags_;
  bool local_ = false;
  bool mean_pending_ = false;
  std::vector<torch::Tensor> accumulated_;  // earlier micro-batches' part, already reduced
};

}  // namespace loop::engine
