#include "compiler/driver/pipeline.h"

#include <algorithm>

#include "compiler/base/text.h"
#include "compiler/check/check.h"
#include "compiler/driver/resources.h"
#include "compiler/driver/text_file.h"
#include "compiler/plan/lower.h"
#include "compiler/sema/analyze.h"

namespace loop::driver {
namespace {

bool is_syntax_error(const diagnostics::Diagnostic& finding) {
  return finding.severity == diagnostics::Severity::error && diagnostics::entry(finding.code).id < "L030";
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
  options.text = read_spec(request.path, in);
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
  for (const diagnostics::Diagnostic& finding : found.diagnostics()) {
    if (well_formed || is_syntax_error(finding)) compilation.engine.add(finding);
  }
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

plan::Plan lower_spec(const Compilation& compilation, const sema::Spec& spec) {
  return planner::lower(spec, compilation.sources);
}

}  // namespace loop::driver
