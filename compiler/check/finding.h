// One fault that an analysis found, before it is reported.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/check/typestate/executor.h"
#include "compiler/diagnostics/engine.h"

namespace loop::check {

struct Finding {
  diagnostics::Code code;
  base::Span span;
  std::vector<std::string> args;
  std::string label;
  std::vector<diagnostics::Label> labels;
  std::vector<std::string> notes;
  std::vector<std::string> helps;
  std::vector<diagnostics::FixIt> fixes;
  /// Takes the fault as repaired, so that the next one shows. Absent: nothing can be said beyond this fault.
  std::function<void(Repairs&)> repair;

  Finding(diagnostics::Code code, base::Span span, std::vector<std::string> args = {})
      : code(code), span(span), args(std::move(args)) {}
  Finding& says(std::string text) { return label = std::move(text), *this; }
  Finding& also(base::Span place, std::string text) {
    if (place && !(place == span)) labels.push_back({place, std::move(text)});
    return *this;
  }
  /// The guard under which an operation is left out.
  Finding& guarded(const sema::Operation* guard, std::string text) {
    return guard ? also(guard->name_span, std::move(text)) : *this;
  }
  Finding& note(std::string text) { return notes.push_back(std::move(text)), *this; }
  Finding& help(std::string text) { return helps.push_back(std::move(text)), *this; }
  Finding& then(std::function<void(Repairs&)> step) { return repair = std::move(step), *this; }
};

void report(const Finding& finding, diagnostics::Engine& engine);

}  // namespace loop::check
