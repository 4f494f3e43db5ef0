#include "compiler/plan/passes/passes.h"

namespace loop::planner {

const std::vector<Pass>& passes() {
  static const std::vector<Pass> all = {{"specialise_rules", specialise_rules}, {"fold_update", fold_update}};
  return all;
}

}  // namespace loop::planner
