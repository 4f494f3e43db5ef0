// The objective: loss terms, their units, and which of them share a count.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/sema/spec.h"
#include "compiler/sema/values.h"

namespace loop::sema {

struct Objective {
  std::vector<LossTerm> terms;
  std::vector<plan::CountClass> classes;
  std::vector<std::string>
      metrics;  // what `evaluate` can measure beside `loss`: term names, accuracy, perplexity
};

/// `loss = E per UNIT` or `loss { a = … per …; … }`. Nothing when a term cannot be understood (reported).
std::optional<Objective> read_loss(Context& context, const ast::Head& loss);

}  // namespace loop::sema
