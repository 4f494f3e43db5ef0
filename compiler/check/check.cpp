#include "compiler/check/check.h"

#include "compiler/check/rules/rules.h"
#include "compiler/check/typestate/analysis.h"

namespace loop::check {

void check(const sema::Spec& spec, diagnostics::Engine& engine, Thoroughness thoroughness) {
  check_synchronisation(spec, engine);
  check_objective(spec, engine);
  check_groups(spec, engine);
  check_tail(spec, engine);
  check_precision(spec, engine);
  check_clocks(spec, engine);
  check_checkpoint(spec, engine);
  check_composition(spec, engine);
  check_data(spec, engine);
  analyze_program(spec, engine, thoroughness);
}

}  // namespace loop::check
