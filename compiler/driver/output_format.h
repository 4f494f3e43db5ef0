// The forms in which `loopc check` writes its findings: one line of registration each.
#pragma once

#include <string>
#include <vector>

#include "compiler/diagnostics/report.h"
#include "compiler/driver/context.h"

namespace loop::driver {

/// "text", "concise", …
std::vector<std::string> output_formats();

/// Writes the report to the context's `out`. `format` is one of the above.
void write_report(const std::string& format, const diagnostics::Report& report, Context& context);

}  // namespace loop::driver
