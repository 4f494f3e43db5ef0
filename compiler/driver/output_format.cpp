#include "compiler/driver/output_format.h"

#include <filesystem>

#include "compiler/diagnostics/render.h"
#include "loop_versions.h"

namespace loop::driver {
namespace {

using diagnostics::Report;

struct OutputFormat {
  const char* name;
  void (*write)(const Report&, Context&);
};

void sarif(const Report& report, Context& context) {
  std::error_code error;  // without a working folder all paths stay as they are
  diagnostics::render_sarif(context.out, report, std::filesystem::current_path(error).string(), LOOP_VERSION);
}

constexpr OutputFormat kFormats[] = {
    {"text",
     [](const Report& report, Context& context) {
       diagnostics::render_text(context.out, report, {.color = context.color_out});
     }},
    {"concise",
     [](const Report& report, Context& context) { diagnostics::render_concise(context.out, report); }},
    {"json", [](const Report& report, Context& context) { diagnostics::render_json(context.out, report); }},
    {"sarif", sarif},
    {"github",
     [](const Report& report, Context& context) { diagnostics::render_github(context.out, report); }},
};

}  // namespace

std::vector<std::string> output_formats() {
  std::vector<std::string> names;
  for (const OutputFormat& format : kFormats) names.emplace_back(format.name);
  return names;
}

void write_report(const std::string& name, const Report& report, Context& context) {
  for (const OutputFormat& format : kFormats) {
    if (name == format.name) return format.write(report, context);
  }
  throw std::logic_error("no output format `" + name + "`");
}

}  // namespace loop::driver
