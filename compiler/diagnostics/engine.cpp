#include "compiler/diagnostics/engine.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <tuple>

namespace loop::diagnostics {

const char* name(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      return "note";
  }
  throw std::logic_error("severity out of range");
}

const std::vector<CatalogEntry>& catalog() {
  // In the order of the enumerators, so that a code is its own index.
  static const std::vector<CatalogEntry> entries = {
#define LOOP_DIAGNOSTIC(code, name, severity, message) {Code::code, #code, name, Severity::severity, message},
#include "compiler/diagnostics/catalog/all.def"
#undef LOOP_DIAGNOSTIC
  };
  return entries;
}

const CatalogEntry& entry(Code code) {
  return catalog().at(static_cast<size_t>(code));
}

const CatalogEntry* find(std::string_view id_or_name) {
  auto same_id = [&](std::string_view id) {
    return std::equal(id.begin(), id.end(), id_or_name.begin(), id_or_name.end(),
                      [](char a, char b) { return a == std::toupper(static_cast<unsigned char>(b)); });
  };
  for (const CatalogEntry& candidate : catalog()) {
    if (same_id(candidate.id) || candidate.name == id_or_name) {
      return &candidate;
    }
  }
  return nullptr;
}

std::string substitute(std::string_view message, const std::vector<std::string>& args) {
  std::string result;
  result.reserve(message.size() + 32);
  for (size_t i = 0; i < message.size(); ++i) {
    const bool placeholder = message[i] == '{' && i + 2 < message.size() && message[i + 2] == '}' &&
                             message[i + 1] >= '0' && message[i + 1] <= '9';
    if (!placeholder) {
      result += message[i];
      continue;
    }
    const auto index = static_cast<size_t>(message[i + 1] - '0');
    if (index >= args.size()) {
      throw std::logic_error("a finding was reported without the argument {" + std::to_string(index) +
                             "} of its message: " + std::string(message));
    }
    result += args[index];  // never substituted again: an argument may hold braces of the user's text
    i += 2;
  }
  return result;
}

Diagnostic& Diagnostic::with_label(std::string text) {
  label = std::move(text);
  return *this;
}

Diagnostic& Diagnostic::also(Span where, std::string text) {
  labels.push_back({where, std::move(text)});
  return *this;
}

Diagnostic& Diagnostic::note(std::string text) {
  notes.push_back(std::move(text));
  return *this;
}

Diagnostic& Diagnostic::help(std::string text) {
  helps.push_back(std::move(text));
  return *this;
}

Diagnostic& Diagnostic::fix(FixIt suggestion) {
  fixes.push_back(std::move(suggestion));
  return *this;
}

bool is_about_meaning(Code code) {
  return entry(code).id >= "L100";
}

bool leaves_no_meaning(const Diagnostic& finding) {
  return finding.severity == Severity::error && !is_about_meaning(finding.code);
}

Diagnostic& Engine::report(Code code, Span span, std::initializer_list<std::string> args) {
  const CatalogEntry& line = entry(code);
  Diagnostic diagnostic{
      .code = code, .severity = line.severity, .span = span, .message = substitute(line.message, args)};
  add(std::move(diagnostic));
  return diagnostics_.back();
}

void Engine::add(Diagnostic diagnostic) {
  errors_ += diagnostic.severity == Severity::error ? 1 : 0;
  diagnostics_.push_back(std::move(diagnostic));
}

void Engine::sort() {
  auto place = [](const Diagnostic& d) {
    return std::tuple(d.span.file.value, d.span.begin, d.span.end, d.code);
  };
  std::stable_sort(diagnostics_.begin(), diagnostics_.end(),
                   [&](const Diagnostic& a, const Diagnostic& b) { return place(a) < place(b); });
  // Repetitions share place and code, but other messages may stand between them: compare within the whole
  // run.
  std::vector<Diagnostic> kept;
  kept.reserve(diagnostics_.size());
  for (Diagnostic& candidate : diagnostics_) {
    bool repeated = false;
    for (auto earlier = kept.rbegin(); earlier != kept.rend() && place(*earlier) == place(candidate);
         ++earlier) {
      repeated = repeated || earlier->message == candidate.message;
    }
    if (!repeated) {
      kept.push_back(std::move(candidate));
    }
  }
  diagnostics_ = std::move(kept);
  errors_ =
      static_cast<size_t>(std::count_if(diagnostics_.begin(), diagnostics_.end(),
                                        [](const Diagnostic& d) { return d.severity == Severity::error; }));
}

}  // namespace loop::diagnostics
