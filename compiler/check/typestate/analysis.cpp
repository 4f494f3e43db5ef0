#include "compiler/check/typestate/analysis.h"

#include <algorithm>

#include "compiler/check/typestate/effects.h"
#include "compiler/check/typestate/judge.h"
#include "compiler/check/typestate/scenarios.h"
#include "compiler/check/typestate/text_faults.h"

namespace loop::check {
namespace {

std::optional<Finding> first_fault(const sema::Spec& spec, const Facts& facts, const Scenario& scenario,
                                   const Repairs& repairs) {
  const std::vector<const sema::Operation*> operations = all_operations(spec);
  const GroupIndex groups(spec);
  Choices choices;
  do {
    const std::vector<WindowTrace> traces = execute(spec, facts, scenario, repairs, choices);
    for (const WindowTrace& trace : traces) {
      const JudgeContext context{spec, facts, repairs, traces, trace, operations, groups};
      if (std::optional<Finding> finding = judge(context)) return finding;
    }
  } while (choices.next());
  return std::nullopt;
}

/// Each fault takes away a possibility, so that this is never reached by a spec a person wrote.
constexpr int kMostFaults = 50;

}  // namespace

void analyze_program(const sema::Spec& spec, diagnostics::Engine& engine, Thoroughness thoroughness) {
  const int most_faults = thoroughness == Thoroughness::first_fault ? 1 : kMostFaults;
  const Facts facts = facts_of(spec);
  Repairs repairs;
  const size_t before = engine.error_count();
  report_text_faults(spec, repairs, engine);
  int faults = static_cast<int>(engine.error_count() - before);
  if (faults >= most_faults) return;
  for (const Scenario& scenario : scenarios(spec, facts)) {
    while (std::optional<Finding> finding = first_fault(spec, facts, scenario, repairs)) {
      report(*finding, engine);
      if (!finding->repair || ++faults >= most_faults) return;
      finding->repair(repairs);
    }
  }
  report_effects(spec, facts, scenarios(spec, facts).front(), repairs, faults > 0, engine);
}

}  // namespace loop::check
