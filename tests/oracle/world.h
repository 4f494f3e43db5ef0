// What a spec leaves open, fixed for one execution: the number of ranks, the windows with their data, and how
// strongly the clips bite. A verdict holds only if it holds in every world.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "compiler/sema/spec.h"

namespace loop::oracle {

inline constexpr int kMaxRanks = 3;
inline constexpr int kMaxMicroBatches = 4;
inline constexpr int kMaxTerms = 2;
inline constexpr int kMaxGroups = 2;
inline constexpr int kElementsPerGroup = 2;
inline constexpr int kElements = kMaxGroups * kElementsPerGroup;

/// One window on all ranks. A term's sum over micro-batch k of rank r has the gradient
///   items · s · (θ + 0.3 θ²) - target,   element by element,
/// which depends on θ without being linear in it, so that stale parameters show.
struct Window {
  int configured = 1;  // K as the spec says
  int counted = 1;     // K of this window: equal on all ranks, empty micro-batches included
  double items[kMaxTerms][kMaxRanks][kMaxMicroBatches] = {};
  double target[kMaxTerms][kMaxRanks][kMaxMicroBatches][kElements] = {};
  int bad_rank = -1;  // whose gradient is not a number, in micro-batch `bad_micro`
  int bad_micro = -1;
};

struct World {
  int ranks = 1;
  int tells_apart =
      0;  // for which programs it differs from the worlds before: 0 all, 1 with clips, 2 with both kinds
  double norm_scale = 1, value_scale = 1;  // thresholds of clips by norm and by value are multiplied by it
  double scale_divisor =
      1;  // the loss scale starts at the spec's divided by it: no verdict rests on its value
  std::vector<Window> windows;
  std::string name;
};

/// The worlds in which a spec is executed: R = 2, 3, 1 where it leaves the ranks open, else its own; unequal
/// counts with empty micro-batches and windows, or equal ones where the spec makes them so; a window that is
/// not finite on one rank only; short windows under `tail = flush`; clips that are sometimes, always and
/// never active. The most telling come first.
std::vector<World> worlds_of(const sema::Spec& spec);

/// Whether the spec makes every micro-batch of a full window count the same on every rank.
bool counts_are_equal(const sema::Spec& spec);

}  // namespace loop::oracle
