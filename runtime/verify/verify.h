// `loopc verify`: the gradient of one window as the spec executes it against one big batch over the same
// samples.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/engine/parts.h"
#include "runtime/verify/report.h"

namespace loop::verify {

struct VerifyOptions {
  std::filesystem::path data_dir{};  // where relative data paths start; empty: the spec's folder
  std::string window = "first";      // first, tail (the one that ends the first epoch), or a number from 1 on
  int64_t ranks = 0;                 // 0: what the plan says, else 1 and 2
  double tolerance = 1e-10;
  plan::RuleCompiler compile_rule{};  // for steps inside `micro`; empty: none can be executed
};

/// Throws loop::Error: (usage) for a window that does not exist or data that cannot be read, (findings) for
/// what does not fit together or cannot be executed.
Report verify(const plan::Plan& plan, const VerifyOptions& options);

/// The same with sources that are there already.
Report verify(const plan::Plan& plan, engine::Sources sources, const VerifyOptions& options);

}  // namespace loop::verify
