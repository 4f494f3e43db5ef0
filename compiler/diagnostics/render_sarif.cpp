// SARIF 2.1.0: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

#include "compiler/diagnostics/render.h"

namespace loop::diagnostics {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
constexpr const char* kRoot = "SRCROOT";

/// Everything but unreserved characters and `/` (RFC 3986).
std::string percent_encoded(const std::string& path) {
  constexpr const char* kHex = "0123456789ABCDEF";
  std::string uri;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain =
        (byte < 0x80 && std::isalnum(byte) != 0) || c == '/' || c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      uri += c;
    } else {
      uri += '%';
      uri += kHex[byte >> 4U];
      uri += kHex[byte & 0xFU];
    }
  }
  return uri;
}

/// Standard input and overrides from the command line are texts without a file.
bool is_file(const std::string& path) {
  return path.rfind("--set", 0) != 0 && (path.empty() || path.front() != '<');
}

Json message(const std::string& text) {
  return {{"text", text}};
}

/// "clip-before-unscale" → "ClipBeforeUnscale", the form the standard recommends for names.
std::string pascal_case(std::string_view name) {
  std::string result;
  bool start = true;
  for (const char c : name) {
    if (c != '-') result += start ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    start = c == '-';
  }
  return result;
}

/// The catalog's message with its arguments left open.
std::string pattern(std::string_view text) {
  return substitute(text, std::vector<std::string>(10, "…"));
}

/// FNV-1a, 64 bit, as 16 hexadecimal digits.
std::string hashed(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  std::string digits(16, '0');
  for (size_t i = digits.size(); i-- > 0; hash >>= 4U) digits[i] = "0123456789abcdef"[hash & 0xFU];
  return digits;
}

std::string without_blanks(std::string_view text) {
  std::string kept;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) kept += c;
  }
  return kept;
}

class SarifRenderer {
 public:
  SarifRenderer(const Report& report, std::string root, const std::string& version)
      : report_(report), sources_(report.sources), root_(std::move(root)), version_(version) {
    if (!root_.empty() && root_.back() != '/') root_ += '/';
  }

  Json document() {
    Json results = Json::array();
    for (const Diagnostic& finding : report_.findings) results.push_back(result(finding));
    for (const Allowed& allowed : report_.allowed) {
      results.push_back(result(allowed.finding));
      results.back()["suppressions"] = Json::array({suppression(allowed)});
    }
    Json run;
    run["tool"]["driver"] = {{"name", "loopc"}, {"version", version_}, {"rules", std::move(rules_)}};
    run["invocations"] = Json::array({{{"executionSuccessful", true}}});
    run["originalUriBaseIds"][kRoot]["description"] = message("The folder in which loopc was started.");
    run["columnKind"] = "unicodeCodePoints";
    run["results"] = std::move(results);
    Json document;
    document["$schema"] = kSchema;
    document["version"] = "2.1.0";
    document["runs"] = Json::array({std::move(run)});
    return document;
  }

 private:
  static const char* level(Severity severity) { return name(severity); }  // SARIF has the same three words

  static Json rule(const CatalogEntry& line) {
    const std::string id(line.id);
    Json rule;
    rule["id"] = id;
    rule["name"] = pascal_case(line.name);
    rule["shortDescription"] = message(std::string(line.name));
    rule["fullDescription"] = message(pattern(line.message));
    rule["help"] = message("`loopc explain " + id + "` shows what it means, a wrong and a right example.");
    rule["defaultConfiguration"]["level"] = level(line.severity);
    return rule;
  }

  /// Only the rules that occur: the whole catalog would be most of the file.
  size_t rule_index(Code code) {
    const auto [at, first] = rule_indices_.emplace(code, rule_indices_.size());
    if (first) rules_.push_back(rule(entry(code)));
    return at->second;
  }

  Json result(const Diagnostic& finding) {
    Json result;
    result["ruleId"] = entry(finding.code).id;
    result["ruleIndex"] = rule_index(finding.code);
    result["level"] = level(finding.severity);
    result["message"] = message(whole_message(finding));
    Json place = location(finding.span);
    if (!place.empty()) result["locations"] = Json::array({std::move(place)});
    Json related = Json::array();
    for (const Label& label : finding.labels) {
      Json one = location(label.span);
      if (one.empty()) continue;
      one["message"] = message(label.text.empty() ? "see here" : label.text);
      related.push_back(std::move(one));
    }
    if (!related.empty()) result["relatedLocations"] = std::move(related);
    result["partialFingerprints"]["primaryLocationLineHash"] = fingerprint(finding);
    Json fixes = Json::array();
    for (const FixIt& fix : finding.fixes) {
      Json one = to_json(fix);
      if (!one["artifactChanges"].empty()) fixes.push_back(std::move(one));
    }
    if (!fixes.empty()) result["fixes"] = std::move(fixes);
    return result;
  }

  static std::string whole_message(const Diagnostic& finding) {
    std::string text = finding.message;
    if (!finding.label.empty()) text += "\n" + finding.label;
    for (const std::string& note : finding.notes) text += "\nnote: " + note;
    for (const std::string& help : finding.helps) text += "\nhelp: " + help;
    return text;
  }

  /// Depends on the code and the text of its line, not on where the line stands; equal ones are numbered.
  std::string fingerprint(const Diagnostic& finding) {
    std::string text(entry(finding.code).id);
    if (sources_.contains(finding.span.file)) {
      const base::SourceFile& file = sources_.file(finding.span.file);
      text += ":" + without_blanks(file.line(file.position(finding.span.begin).line));
    } else {
      text += ":" + finding.message;
    }
    const std::string hash = hashed(text);
    const size_t occurrence = ++occurrences_[{finding.span.file.value, hash}];
    return hash + ":" + std::to_string(occurrence);
  }

  Json suppression(const Allowed& allowed) const {
    Json suppression = {{"kind", "inSource"}, {"justification", allowed.reason}};
    Json place = location(allowed.comment);
    if (!place.empty()) suppression["location"] = std::move(place);
    return suppression;
  }

  Json artifact(const std::string& path) const {
    if (path.empty() || path.front() != '/') {
      const std::string below = path.rfind("./", 0) == 0 ? path.substr(2) : path;
      return {{"uri", percent_encoded(below)}, {"uriBaseId", kRoot}};
    }
    if (!root_.empty() && path.rfind(root_, 0) == 0)
      return {{"uri", percent_encoded(path.substr(root_.size()))}, {"uriBaseId", kRoot}};
    return {{"uri", "file://" + percent_encoded(path)}};
  }

  Json region(Span span) const {
    const base::SourceFile& file = sources_.file(span.file);
    const base::Position begin = file.position(span.begin);
    const base::Position end = file.position(span.end);
    return {{"startLine", begin.line},
            {"startColumn", begin.column},
            {"endLine", end.line},
            {"endColumn", end.column}};
  }

  /// Empty for a finding without a place.
  Json location(Span span) const {
    Json location = Json::object();
    if (!sources_.contains(span.file)) return location;
    const std::string& path = sources_.file(span.file).path();
    if (is_file(path)) {
      location["physicalLocation"] = {{"artifactLocation", artifact(path)}, {"region", region(span)}};
    } else {
      location["logicalLocations"] = Json::array({{{"fullyQualifiedName", path}}});
    }
    return location;
  }

  Json to_json(const FixIt& fix) const {
    Json changes = Json::array();
    std::map<uint32_t, size_t> change_of;  // by file
    for (const Edit& edit : fix.edits) {
      if (!sources_.contains(edit.span.file) || !is_file(sources_.file(edit.span.file).path())) continue;
      const auto [at, first] = change_of.emplace(edit.span.file.value, changes.size());
      if (first) {
        changes.push_back({{"artifactLocation", artifact(sources_.file(edit.span.file).path())},
                           {"replacements", Json::array()}});
      }
      Json replacement;
      replacement["deletedRegion"] = region(edit.span);
      if (!edit.text.empty()) replacement["insertedContent"] = message(edit.text);
      changes[at->second]["replacements"].push_back(std::move(replacement));
    }
    const bool certain = fix.certainty == Certainty::certain;
    return {{"description", message(fix.title)},
            {"artifactChanges", std::move(changes)},
            {"properties", {{"certainty", certain ? "certain" : "likely"}}}};
  }

  const Report& report_;
  const base::SourceManager& sources_;
  std::string root_;
  const std::string& version_;
  Json rules_ = Json::array();
  std::map<Code, size_t> rule_indices_;
  std::map<std::pair<uint32_t, std::string>, size_t> occurrences_;
};

}  // namespace

void render_sarif(std::ostream& out, const Report& report, const std::string& root,
                  const std::string& version) {
  // A text that is no UTF-8 may be quoted in a message: replaced, so that the document stays valid JSON.
  out << SarifRenderer(report, root, version).document().dump(2, ' ', false, Json::error_handler_t::replace)
      << '\n';
}

}  // namespace loop::diagnostics
