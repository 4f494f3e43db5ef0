// Properties of 10,000 random specs. A failure names its seed and the smallest text that still shows it.
#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "compiler/ast/printer.h"
#include "compiler/driver/fix.h"
#include "compiler/driver/pipeline.h"
#include "compiler/sema/keys.h"
#include "compiler/syntax/format.h"
#include "compiler/syntax/parser.h"
#include "tests/generated/minimize.h"
#include "tests/generated/spec_source.h"

using namespace loop;
using loop::generated::generate;
using loop::generated::GeneratedSpec;

namespace {

constexpr const char* kPath = LOOP_SOURCE_DIR "/tests/generated/spec.loop";  // where the texts pretend to be

/// How many specs: enough for each run, more by LOOP_GENERATED_SPECS.
uint64_t count_of_specs() {
  const char* wanted = std::getenv("LOOP_GENERATED_SPECS");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 10'000;
}

/// What reads the standard library takes some hundred times as long as parsing: all specs in an optimised
/// build, every so many in one that is debugged or measured.
#ifdef NDEBUG
constexpr uint64_t kChecked = 1, kFixed = 1;
#else
constexpr uint64_t kChecked = 10, kFixed = 25;
#endif

struct Parsed {
  base::SourceManager sources;
  diagnostics::Engine engine;
  syntax::ParseResult result;

  explicit Parsed(const std::string& text) {
    result = syntax::parse(sources, sources.add("spec.loop", text), engine);
  }
  std::string tree() const { return ast::to_string(result.file); }
  std::string formatted() const { return syntax::format(sources, result.file); }
  std::vector<std::string> comments() const {
    std::vector<std::string> texts;
    for (const ast::Comment& comment : result.file.comments)
      texts.push_back(comment.text.substr(0, comment.text.find_last_not_of(" \t") + 1));
    return texts;
  }
};

/// Codes of all findings, with how often each occurs.
std::map<std::string, int> codes_of(const std::vector<diagnostics::Diagnostic>& findings) {
  std::map<std::string, int> codes;
  for (const diagnostics::Diagnostic& finding : findings)
    ++codes[std::string(diagnostics::entry(finding.code).id)];
  return codes;
}

std::map<std::string, int> checked_codes(const std::string& text, const std::vector<std::string>& overrides) {
  driver::Compilation compilation;
  std::istringstream no_input;
  driver::SpecRequest request;
  request.path = kPath;
  request.overrides = overrides;
  request.text = text;
  const std::vector<sema::Spec> specs = driver::check_spec(compilation, request, no_input);
  if (!compilation.engine.has_errors())
    for (const sema::Spec& spec : specs) driver::lower_spec(compilation, spec, request);
  return codes_of(compilation.engine.diagnostics());
}

/// A broken promise in words, or nothing.
using Promise = std::optional<std::string> (*)(const std::string& text);

std::optional<std::string> formatting_is_safe(const std::string& text) {
  const Parsed before(text);
  if (before.result.had_errors) return std::nullopt;
  const std::string formatted = before.formatted();
  const Parsed after(formatted);
  if (after.result.had_errors) return "the formatted text does not parse:\n" + formatted;
  if (after.tree() != before.tree()) return "the formatted text has another tree:\n" + formatted;
  if (after.comments() != before.comments()) return "the formatted text has other comments:\n" + formatted;
  if (after.formatted() != formatted)
    return "formatting twice is not formatting once:\n" + formatted + "then:\n" + after.formatted();
  return std::nullopt;
}

std::optional<std::string> formatting_keeps_findings(const std::string& text) {
  const Parsed parsed(text);
  if (parsed.result.had_errors) return std::nullopt;
  const std::string formatted = parsed.formatted();
  if (checked_codes(text, {}) != checked_codes(formatted, {}))
    return "the formatted text has other findings:\n" + formatted;
  return std::nullopt;
}

std::optional<std::string> fixing_is_safe(const std::string& text) {
  const fixes::Check check = driver::check_of(kPath);
  const fixes::Checked before = check(text);
  const fixes::Fixed fixed = driver::fix_text(kPath, text);
  const fixes::Checked after = check(fixed.text);
  if (fixed.applied.empty()) {
    if (fixed.text != text) return "no fix was applied, and the text has changed:\n" + fixed.text;
    return std::nullopt;
  }
  if (after.loops <= before.loops) {
    std::map<std::string, int> old_codes = codes_of(before.findings);
    for (const auto& [code, number] : codes_of(after.findings))
      if (number > old_codes[code]) return "the fixed text has a new finding, " + code + ":\n" + fixed.text;
  }
  const fixes::Fixed again = driver::fix_text(kPath, fixed.text);
  if (again.text != fixed.text)
    return "fixing twice is not fixing once:\n" + fixed.text + "then:\n" + again.text;
  if (Parsed(text).result.had_errors || !Parsed(fixed.text).result.had_errors) return std::nullopt;
  return "the fixed text does not parse:\n" + fixed.text;
}

void hold(uint64_t seed, const std::string& text, Promise promise) {
  const std::optional<std::string> broken = promise(text);
  if (!broken) return;
  const std::string small = generated::minimize(
      text, [&](const std::string& part) { return promise(part).has_value(); }, 400);
  const std::optional<std::string> small_broken = promise(small);
  FAIL_CHECK("seed " << seed << ", smallest text:\n" << small << "\n" << small_broken.value_or(*broken));
}

}  // namespace

TEST_CASE("generated specs: formatting changes no meaning and is idempotent") {
  uint64_t parsed = 0;
  const uint64_t count = count_of_specs();
  for (uint64_t seed = 0; seed < count; ++seed) {
    const std::string text = generate(seed).text;
    parsed += Parsed(text).result.had_errors ? 0 : 1;
    hold(seed, text, formatting_is_safe);
  }
  CHECK_MESSAGE(parsed > count / 2, "most of them should parse: " << parsed);
  CHECK_MESSAGE(parsed < count, "some of them should not");
}

TEST_CASE(
    "generated specs: checking gives findings or a plan, with overrides too, and formatting keeps the "
    "findings") {
  std::set<std::string> seen;
  uint64_t clean = 0;
  const uint64_t count = count_of_specs();
  for (uint64_t seed = 0; seed < count; seed += kChecked) {
    const GeneratedSpec spec = generate(seed);
    const std::map<std::string, int> codes = checked_codes(spec.text, spec.overrides);
    for (const auto& [code, number] : codes) seen.insert(code);
    clean += codes.empty() ? 1 : 0;
    hold(seed, spec.text, formatting_keeps_findings);
  }
  MESSAGE(seen.size() << " codes seen, " << clean << " specs without findings");
  if (count >= 10'000) CHECK(seen.size() > 60);
  CHECK(clean > 0);
}

TEST_CASE("generated specs: --fix removes findings, adds none, and is idempotent") {
  uint64_t fixed = 0;
  const uint64_t count = count_of_specs();
  for (uint64_t seed = 0; seed < count; seed += kFixed) {
    const std::string text = generate(seed).text;
    hold(seed, text, fixing_is_safe);
    fixed += driver::fix_text(kPath, text).applied.empty() ? 0 : 1;
  }
  MESSAGE(fixed << " specs had something to fix");
}

TEST_CASE("generated specs: every key of the tables has values") {
  for (const sema::BlockTable* table : sema::block_tables()) {
    for (const sema::Key& key : table->keys) {
      const bool other = key.form == sema::Form::later || key.form == sema::Form::block ||
                         key.form == sema::Form::named_block;
      if (other) continue;
      const std::string full = table == &sema::loop_table()
                                   ? std::string(key.name)
                                   : std::string(table->name) + "." + std::string(key.name);
      CHECK_MESSAGE(!generated::values_of(full).empty(),
                    full << " needs values in tests/generated/values.cpp");
    }
  }
}
