// Patterns that choose findings: a code, a name, the beginning of codes, a family, a severity, or `all`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/diagnostics/engine.h"

namespace loop::diagnostics {

/// A family of codes, as in the catalog.
struct Family {
  std::string_view name;     // "order"
  std::string_view summary;  // "order of operations"
  std::string_view first;    // "L100"
  std::string_view last;     // "L199"
};
const std::vector<Family>& families();
const Family& family_of(const CatalogEntry& entry);

class Selector {
 public:
  /// Adds what `pattern` means: "L110" and "clip-before-unscale" one code, "L3" all codes that begin so,
  /// "order" a family, "warning" a severity, "all" everything. False when it means nothing.
  bool add(const std::string& pattern);
  bool empty() const { return codes_.empty() && severities_.empty() && !all_; }
  bool matches(const Diagnostic& diagnostic) const;

 private:
  std::vector<Code> codes_;  // sorted
  std::vector<Severity> severities_;
  bool all_ = false;
};

/// The pattern most likely meant; empty when none is near.
std::string nearest_pattern(const std::string& written);

}  // namespace loop::diagnostics
