// The one table of operations: names, blocks, arguments, pre- and postconditions. Checker, lowering, emitter
// and the reference pages read it; nothing about an operation is written down anywhere else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/operation.h"

namespace loop::operations {

/// Where it belongs. Operations of `update` may stand in `micro` as well: they are read there with their
/// meaning, and the checker judges whether that is right (for K > 1 it is not).
enum class Where { micro, update, both };

/// What an operation takes between its parentheses.
enum class Arguments { none, optional_mode, mode, factor, clip, rule, condition, name };

/// What must exist in this micro-batch before the operation.
enum class GraphNeed { nothing, outputs, loss };

/// What the operation does to this micro-batch's graph.
enum class GraphEffect { none, makes_outputs, makes_loss, scales_loss, spends_loss };

/// What the gradient must be, per parameter group, for the operation to mean what the reference means. Flags.
enum GradientNeed : unsigned {
  kAnyGradient = 0,
  kComplete = 1U << 0,    // every micro-batch of the window is in it, and nothing older
  kReduced = 1U << 1,     // summed over all ranks
  kUnscaled = 1U << 2,    // no power of the loss scale left
  kNormalized = 1U << 3,  // every term has the factor 1/N_t
  kUnspent = 1U << 4,     // no step has used it
};

/// What the operation does to the accumulated gradient.
enum class GradientEffect { none, accumulates, reduces, multiplies, clips, applies, zeroes };

/// Which factor the operation contributes to c.
enum class FactorEffect {
  none,
  loss_mode,         // 1, 1/n_rk or 1/N_t by the mode of `loss`
  written,           // E
  inverse_scale,     // 1/S
  world_over_count,  // W/N, W = R after a mean reduction, else 1
  reduction,         // sum: local part 1, replicated part R; mean: 1/R and 1
};

/// The finite verdict, agreed over all ranks.
enum class Verdict { none, gives, gives_and_obeys, needs };

/// Whether every rank must take part.
enum class Collective { never, always, when_synchronising, when_counts_are_global };

struct Entry {
  plan::OpKind kind;
  std::string_view name;  // as spelled: "scale_loss", "clip"
  Where where;
  bool encloses;  // has a block
  Arguments arguments;
  bool takes_groups;  // `on GROUPS`
  GraphNeed graph_need;
  GraphEffect graph_effect;
  unsigned gradient_need;  // GradientNeed flags
  GradientEffect gradient_effect;
  FactorEffect factor_effect;
  Verdict verdict;
  Collective collective;
  bool once;                 // at most once per window; a second one is an error or without effect
  std::string_view meaning;  // one sentence for the reference page
};

/// All operations in the order of the reference page.
const std::vector<Entry>& table();
const Entry& entry(plan::OpKind kind);
/// The entries spelled `name` (two for "clip"); empty when there is none.
std::vector<const Entry*> find(std::string_view name);
/// All spellings, for suggestions.
std::vector<std::string> names();

/// The table as the reference page shows it (docs/reference/operations.md holds this text).
std::string reference_page();

}  // namespace loop::operations
