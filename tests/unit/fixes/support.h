// What the tests of fixes share: texts, their findings, and what must hold of every repair.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/check/check.h"
#include "compiler/fixes/apply.h"
#include "compiler/fixes/layout.h"
#include "compiler/sema/analyze.h"

namespace loop::tests {

namespace fs = std::filesystem;
inline const fs::path kRoot = LOOP_SOURCE_DIR;
inline constexpr const char* kNowhere = "example.loop";  // a path for texts that are in no file

inline std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// What a check says of a text: with syntax errors those alone.
inline fixes::Checked check_text(const std::string& text) {
  const auto about_syntax = [](const diagnostics::Diagnostic& finding) {
    return finding.severity == diagnostics::Severity::error && diagnostics::entry(finding.code).id < "L030";
  };
  base::SourceManager sources;
  diagnostics::Engine engine;
  sema::Options options;
  options.path = kNowhere;
  options.text = text;
  options.stdlib_dir = kRoot / "stdlib";
  const sema::AnalysisResult result = sema::analyze(sources, engine, options);
  fixes::Checked checked;
  checked.file = result.file;
  const auto& found = engine.diagnostics();
  const bool well_formed = std::none_of(found.begin(), found.end(), about_syntax);
  if (well_formed) {
    checked.loops = result.specs.size();
    for (const sema::Spec& spec : result.specs) check::check(spec, engine);
  }
  engine.sort();
  for (const diagnostics::Diagnostic& finding : engine.diagnostics())
    if (well_formed || about_syntax(finding)) checked.findings.push_back(finding);
  return checked;
}

inline fixes::Fixed fix_text(const std::string& text) {
  return fixes::fix_text(text, check_text);
}

/// How many findings of each code a text has.
using Counts = std::map<std::string, int>;

struct Verdict {
  Counts counts;
  size_t loops = 0;
};

inline Verdict judge(const std::string& text) {
  const fixes::Checked checked = check_text(text);
  Verdict verdict;
  verdict.loops = checked.loops;
  for (const diagnostics::Diagnostic& finding : checked.findings)
    ++verdict.counts[std::string(diagnostics::entry(finding.code).id)];
  return verdict;
}

/// A repair makes nothing worse, keeps the layout and the comments, and is complete.
inline fixes::Fixed check_repair(const std::string& text) {
  const fixes::Fixed fixed = fix_text(text);
  CAPTURE(text);
  CAPTURE(fixed.text);
  const Verdict before = judge(text);
  const Verdict after = judge(fixed.text);
  CHECK(after.loops >= before.loops);
  for (const auto& [code, count] : after.counts) {
    const auto then = before.counts.find(code);
    const bool revealed = after.loops > before.loops && code >= "L100";
    CHECK_MESSAGE((revealed || (then != before.counts.end() && count <= then->second)), code << " is new");
  }
  CHECK(fixed.applied.empty() == (fixed.text == text));
  if (fixes::canonical_layout(text) == text) CHECK(fixes::canonical_layout(fixed.text) == fixed.text);
  CHECK(fix_text(fixed.text).text == fixed.text);
  return fixed;
}

/// The fences of a kind on the pages of the findings: code and text.
inline std::vector<std::pair<std::string, std::string>> fences(const std::string& kind) {
  std::vector<std::pair<std::string, std::string>> found;
  std::vector<fs::path> pages;
  for (const auto& entry : fs::directory_iterator(kRoot / "docs" / "errors")) pages.push_back(entry.path());
  std::sort(pages.begin(), pages.end());
  for (const fs::path& page : pages) {
    std::istringstream lines(read(page));
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
      if (inside && line.rfind("```", 0) == 0) {
        inside = false;
      } else if (inside) {
        found.back().second += line + "\n";
      } else if (line == "```" + kind) {
        inside = true;
        found.emplace_back(page.stem().string(), "");
      }
    }
  }
  return found;
}

}  // namespace loop::tests
