// `loopc doctor`
#include <CLI/CLI.hpp>
#include <algorithm>

#include "compiler/driver/exit_codes.h"
#include "compiler/driver/subcommands.h"
#include "compiler/driver/toolchain.h"

namespace loop::driver {
namespace {

const char* word(State state) {
  switch (state) {
    case State::good:
      return "ok";
    case State::absent:
      return "absent";
    case State::wrong:
      return "WRONG";
  }
  return "";
}

int report_installation(Context& context) {
  const std::vector<Finding> findings = examine_installation();
  size_t part_width = 0;
  for (const Finding& finding : findings) part_width = std::max(part_width, finding.part.size());
  const auto padded = [](const std::string& text, size_t width) {
    return text + std::string(width > text.size() ? width - text.size() : 0, ' ');
  };
  size_t wrong = 0;
  for (const Finding& finding : findings) {
    wrong += finding.state == State::wrong ? 1 : 0;
    context.out << padded(finding.part, part_width + 2) << padded(word(finding.state), 8) << finding.found;
    if (!finding.remark.empty()) {
      // What the runtime said may have several lines.
      std::string remark = finding.remark;
      for (size_t at = remark.find('\n'); at != std::string::npos; at = remark.find('\n', at + 1)) {
        remark.replace(at, 1, "\n" + std::string(part_width + 10, ' '));
      }
      context.out << (finding.found.empty() ? "" : "  ") << "(" << remark << ")";
    }
    context.out << '\n';
  }
  const bool trains = std::none_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.state == State::wrong && (finding.part == "runtime" || finding.part == "LibTorch");
  });
  context.out << "\nusable: check, fmt, plan, explain"
              << (trains ? ", verify, and run: on the CPU, in one process or several" : "") << '\n';
  if (wrong > 0)
    context.out << "wrong:  " << wrong << (wrong == 1 ? " part" : " parts") << ", marked WRONG above\n";
  return wrong > 0 ? kFindings : kDone;
}

}  // namespace

Action add_doctor(CLI::App& app, Context& context) {
  app.footer("Exit status 0 when everything this build needs works, else 1.");
  return [&context] { return report_installation(context); };
}

}  // namespace loop::driver
