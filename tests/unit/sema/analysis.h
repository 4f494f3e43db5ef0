// Runs the analysis on a text or on files, for tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/diagnostics/render.h"
#include "compiler/sema/analyze.h"

namespace loop::testing {

/// A spec on disk.
struct File {
  std::filesystem::path path;
  bool look_for_data = false;
};

struct Analysis {
  base::SourceManager sources;
  diagnostics::Engine engine;
  sema::AnalysisResult result;

  explicit Analysis(const std::string& text, std::vector<std::string> overrides = {}, std::string loop = "") {
    sema::Options options;
    options.path = "spec.loop";
    options.text = text;
    run(std::move(options), std::move(overrides), std::move(loop));
  }
  explicit Analysis(const File& file) {
    sema::Options options;
    options.path = file.path.string();
    options.look_for_data = file.look_for_data;
    run(std::move(options), {}, "");
  }

  bool has(const std::string& code) const {
    for (const diagnostics::Diagnostic& finding : engine.diagnostics())
      if (diagnostics::entry(finding.code).id == code) return true;
    return false;
  }
  /// The text under the first finding of that code; "(none)" when there is none.
  std::string place(const std::string& code) const {
    for (const diagnostics::Diagnostic& finding : engine.diagnostics())
      if (diagnostics::entry(finding.code).id == code) return std::string(sources.text(finding.span));
    return "(none)";
  }
  const diagnostics::Diagnostic& finding(const std::string& code) const {
    for (const diagnostics::Diagnostic& one : engine.diagnostics())
      if (diagnostics::entry(one.code).id == code) return one;
    throw std::runtime_error("no finding " + code + " but:\n" + text());
  }
  std::string text() const {
    std::ostringstream out;
    diagnostics::render_text(out, sources, engine.diagnostics(), {});
    return out.str();
  }
  const sema::Spec& spec(size_t index = 0) const {
    if (index >= result.specs.size()) throw std::runtime_error("no such loop; findings:\n" + text());
    return result.specs[index];
  }

 private:
  void run(sema::Options options, std::vector<std::string> overrides, std::string loop) {
    options.overrides = std::move(overrides);
    options.loop = std::move(loop);
    options.stdlib_dir = std::filesystem::path(LOOP_SOURCE_DIR) / "stdlib";
    result = sema::analyze(sources, engine, options);
    engine.sort();
  }
};

/// A small complete loop; `replace` changes pieces of it.
inline const std::string kTiny = R"(use std.optimizers.sgd

loop tiny {
  model = mlp(hidden: [8])
  data {
    train       = csv("rows.csv", target: "y", task: classification)
    valid       = csv("more.csv", target: "y", task: classification)
    micro_batch = 8 samples
  }
  loss = cross_entropy() per samples
  window {
    size = 4 micro_batches
    tail = flush
  }
  update { step sgd(lr: 0.1) }
  stop = 100 updates
}
)";

inline std::string replace(std::string text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("the text has no " + from);
  return text.replace(at, from.size(), to);
}

}  // namespace loop::testing
