#include "compiler/diagnostics/selector.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "compiler/base/text.h"

namespace loop::diagnostics {
namespace {

constexpr Severity kSeverities[] = {Severity::error, Severity::warning, Severity::note};

bool is_code_prefix(const std::string& pattern) {
  return !pattern.empty() && (pattern[0] == 'L' || pattern[0] == 'l') && pattern.size() <= 4 &&
         std::all_of(pattern.begin() + 1, pattern.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"syntax", "syntax", "L001", "L019"},
      {"allowances", "allowances", "L020", "L029"},
      {"names", "names, types, units and keys", "L030", "L099"},
      {"order", "order of operations", "L100", "L199"},
      {"synchronisation", "synchronisation of ranks", "L200", "L299"},
      {"normalisation", "normalisation and denominators", "L300", "L399"},
      {"tail", "tail and empty windows", "L400", "L499"},
      {"precision", "mixed precision", "L500", "L599"},
      {"clocks", "clocks and schedules", "L600", "L699"},
      {"checkpoint", "checkpoint and resume", "L700", "L799"},
      {"composition", "models and losses that do not decompose", "L800", "L899"},
      {"data", "data, memory and cost", "L900", "L999"},
  };
  return all;
}

const Family& family_of(const CatalogEntry& entry) {
  for (const Family& family : families()) {
    if (family.first <= entry.id && entry.id <= family.last) return family;
  }
  throw std::logic_error("no family has the code " + std::string(entry.id));
}

bool Selector::add(const std::string& pattern) {
  for (const Severity severity : kSeverities) {
    if (pattern == name(severity)) {
      severities_.push_back(severity);
      return true;
    }
  }
  if (pattern == "all") return all_ = true;
  std::vector<Code> found;
  const CatalogEntry* one = is_code_prefix(pattern) ? nullptr : find(pattern);
  std::string prefix = pattern;
  if (is_code_prefix(pattern)) prefix[0] = 'L';
  for (const CatalogEntry& entry : catalog()) {
    const bool chosen = is_code_prefix(pattern) ? entry.id.substr(0, prefix.size()) == prefix
                        : one != nullptr        ? one == &entry
                                                : family_of(entry).name == pattern;
    if (chosen) found.push_back(entry.code);
  }
  codes_.insert(codes_.end(), found.begin(), found.end());
  std::sort(codes_.begin(), codes_.end());
  return !found.empty();
}

bool Selector::matches(const Diagnostic& diagnostic) const {
  return all_ || std::binary_search(codes_.begin(), codes_.end(), diagnostic.code) ||
         std::find(severities_.begin(), severities_.end(), diagnostic.severity) != severities_.end();
}

std::string nearest_pattern(const std::string& written) {
  std::vector<std::string> known = {"all"};
  for (const Severity severity : kSeverities) known.emplace_back(name(severity));
  for (const Family& family : families()) known.emplace_back(family.name);
  for (const CatalogEntry& entry : catalog()) {
    known.emplace_back(entry.name);
    known.emplace_back(entry.id);
  }
  return base::nearest(written, known).value_or("");
}

}  // namespace loop::diagnostics
