#include "compiler/driver/pipeline.h"

#include <algorithm>

#include "compiler/base/text.h"
#include "compiler/check/check.h"
#include "compiler/driver/allowances.h"
#include "compiler/driver/resources.h"
#include "compiler/driver/text_file.h"
#include "compiler/plan/lower.h"
#include "compiler/plan/passes/passes.h"
#include "compiler/sema/analyze.h"

namespace loop::driver {
namespace {

bool is_syntax_error(const diagnostics::Diagnostic& finding) {
  return finding.severity == diagnostics::Severity::error && diagnostics::entry(finding.code).id < "L030";
}

/// Those of the spec and of every file that it uses.
std::vector<Allowance> all_allowances(Compilation& compilation) {
  std::vector<Allowance> all;
  for (base::FileId file{1}; compilation.sources.contains(file); ++file.value) {
    for (Allowance& allowance : read_allowances(compilation.sources, file, compilation.engine))
      all.push_back(std::move(allowance));
  }
  return all;
}

}  // namespace

std::vector<sema::Spec> check_spec(Compilation& compilation, const SpecRequest& request, std::istream& in) {
  for (const std::string& written : request.overrides) {
    const size_t equals = written.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError("`--set " + written +
                       "` has no `key=value`; for example `--set window.size=\"16 micro_batches\"`");
    }
  }
  sema::Options options;
  options.path = request.path == kStandardInput ? kStandardInputName : request.path;
  options.text = request.text ? *request.text : read_spec(request.path, in);
  options.loop = request.loop;
  options.overrides = request.overrides;
  options.stdlib_dir = stdlib_dir();
  options.look_for_data = request.look_for_data;
  diagnostics::Engine found;
  sema::AnalysisResult result = sema::analyze(compilation.sources, found, options);
  // What has a syntax error is left out of the tree, so that much else would seem missing: that is said when
  // the syntax is right.
  const bool well_formed =
      std::none_of(found.diagnostics().begin(), found.diagnostics().end(), is_syntax_error);
  if (well_formed) {
    for (const sema::Spec& spec : result.specs) check::check(spec, found);
  } else {
    result.specs.clear();
  }
  found.sort();
  std::vector<Allowance> allowances = all_allowances(compilation);
  for (const diagnostics::Diagnostic& finding : found.diagnostics()) {
    if (!well_formed && !is_syntax_error(finding)) continue;
    if (finding.code == diagnostics::Code::L093 && request.may_lack_loop) continue;
    if (const Allowance* allowance = allowance_for(allowances, finding)) {
      compilation.allowed.push_back({finding, allowance->reason, allowance->span});
    } else {
      compilation.engine.add(finding);
    }
  }
  // What an allowance is for may lie in another loop, be overridden, or not have been looked for yet.
  const bool all_seen =
      well_formed && !result.specs.empty() && request.loop.empty() && request.overrides.empty() &&
      std::none_of(found.diagnostics().begin(), found.diagnostics().end(), diagnostics::leaves_no_meaning);
  if (all_seen) report_unused(allowances, result.file, compilation.engine);
  compilation.engine.sort();
  return std::move(result.specs);
}

const sema::Spec& only_loop(const std::vector<sema::Spec>& specs, const SpecRequest& request) {
  if (specs.size() == 1) return specs.front();
  const std::string path = request.path == kStandardInput ? kStandardInputName : request.path;
  if (specs.empty())
    throw UsageError("`" + path + "` has no complete loop; a file is run by its `loop NAME { … }`");
  std::vector<std::string> names;
  names.reserve(specs.size());
  for (const sema::Spec& spec : specs) names.push_back(spec.name);
  throw UsageError("`" + path + "` has several loops; choose one with `--loop " + base::enumerate(names) +
                   "`");
}

plan::Plan lower_spec(const Compilation& compilation, const sema::Spec& spec, const SpecRequest& request) {
  plan::Plan plan = planner::lower(spec, compilation.sources);
  for (const planner::Pass& pass : planner::passes()) {
    const auto& left_out = request.without_passes;
    if (std::find(left_out.begin(), left_out.end(), pass.name) == left_out.end()) pass.run(plan);
  }
  return plan;
}

}  // namespace loop::driver
