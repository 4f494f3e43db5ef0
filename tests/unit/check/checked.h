// A loop's findings from its text, and loops made of the parts that a test is about.
#pragma once

#include <string>
#include <vector>

#include "compiler/check/check.h"
#include "compiler/sema/analyze.h"

namespace loop::tests {

/// The parts of a small loop that differ between tests; everything else is fixed. Line 1 of the text is the
/// loop's head.
struct Parts {
  std::string micro = "sync_on(last) { forward; loss; backward }";  // empty: left to the compiler
  std::string update = "normalize; step sgd(lr: 0.1); zero_grad";
  std::string window = "size = 4 micro_batches; tail = flush";
  std::string loss = "loss = cross_entropy(ignore: -100) per tokens";
  std::string data = "train = lines(\"corpus.txt\", tokenizer: byte); micro_batch = 8 samples; short = drop";
  std::string model = "gpt(layers: 1, heads: 1, width: 8, context: 16)";
  std::string more;  // further keys of the loop
  std::string stop = "100 updates";
};

/// Lines: 1 head, 2 model, 3 data, 4 loss, 5 window, 6 micro, 7 update, 8 stop, 9 more.
inline std::string text_of(const Parts& parts) {
  std::string text = "use std.optimizers.sgd; use std.schedules.warmup_cosine; loop example {\n";
  text += "model = " + parts.model + "\ndata { " + parts.data + " }\n" + parts.loss + "\nwindow { " +
          parts.window + " }\n";
  text += (parts.micro.empty() ? "" : "micro { " + parts.micro + " }") + "\n";
  text += "update { " + parts.update + " }\nstop = " + parts.stop + "\n" + parts.more + "\n}\n";
  return text;
}

struct Checked {
  base::SourceManager sources;
  diagnostics::Engine engine;
  std::vector<sema::Spec> specs;

  /// "L101:6" for every finding of at least this severity, in order of the text.
  std::vector<std::string> findings(diagnostics::Severity least = diagnostics::Severity::error) const {
    std::vector<std::string> found;
    for (const diagnostics::Diagnostic& one : engine.diagnostics()) {
      if (one.severity > least) continue;
      const std::string line = one.span
                                   ? std::to_string(sources.file(one.span.file).position(one.span.begin).line)
                                   : std::string("-");
      found.push_back(std::string(diagnostics::entry(one.code).id) + ":" + line);
    }
    return found;
  }
  const diagnostics::Diagnostic* find(std::string_view id) const {
    for (const diagnostics::Diagnostic& one : engine.diagnostics()) {
      if (diagnostics::entry(one.code).id == id) return &one;
    }
    return nullptr;
  }
  /// Whether a finding has a note with this text in it.
  bool notes(std::string_view id, std::string_view text) const {
    const diagnostics::Diagnostic* one = find(id);
    if (!one) return false;
    for (const std::string& note : one->notes) {
      if (note.find(text) != std::string::npos) return true;
    }
    return false;
  }
};

inline Checked checked(const std::string& text) {
  Checked result;
  sema::Options options;
  options.path = "example.loop";
  options.text = text;
  options.stdlib_dir = LOOP_SOURCE_DIR "/stdlib";
  result.specs = sema::analyze(result.sources, result.engine, options).specs;
  for (const sema::Spec& spec : result.specs) check::check(spec, result.engine);
  result.engine.sort();
  return result;
}
inline Checked checked(const Parts& parts) {
  return checked(text_of(parts));
}

using Codes = std::vector<std::string>;

/// The errors of a loop, with their lines.
inline Codes errors(const Parts& parts) {
  return checked(parts).findings();
}

inline const char* kFp16Micro =
    "sync_on(last) { autocast { forward; loss }; scale_loss(loss_scale); backward }";
/// Data whose short micro-batches are kept, as windows in samples or tokens need it.
inline const char* kKept = "train = lines(\"corpus.txt\", tokenizer: byte); micro_batch = 8 samples";
inline const char* kFp16 = "amp = fp16(init_scale: 65536)";

}  // namespace loop::tests
