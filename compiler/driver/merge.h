// Findings of several compilations over one set of sources.
#pragma once

#include <memory>
#include <vector>

#include "compiler/diagnostics/report.h"
#include "compiler/driver/check_files.h"

namespace loop::driver {

/// All findings, sorted by path and place, over one set of sources: `sources` takes over the texts they are
/// about. What several files say of one that they all use is said once, and an allowance that one of them
/// needs is used. What the settings of every file that gives it hide is counted only.
diagnostics::Report merge(const std::vector<std::unique_ptr<CheckedFile>>& files,
                          base::SourceManager& sources);

}  // namespace loop::driver
