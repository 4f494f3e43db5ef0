// Syntax errors of one text, from all stages, before they go to the engine in the text's order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/diagnostics/engine.h"

namespace loop::syntax {

struct Finding {
  diagnostics::Code code;
  base::Span span;
  std::vector<std::string> args;
  std::string label;
  std::vector<diagnostics::Label> labels;
  std::vector<std::string> helps;
};

class Findings {
 public:
  void add(Finding finding) { findings_.push_back(std::move(finding)); }
  bool empty() const { return findings_.empty(); }

  /// Marks a byte of the text as already reported: what the parser then says about the same statement is only
  /// a consequence.
  void mark(uint32_t offset) { marks_.push_back(offset); }
  void sort_marks();
  /// Whether a mark lies in [begin, end). Call after sort_marks().
  bool marked(uint32_t begin, uint32_t end) const;

  /// Hands the findings over in the order of the text; at most base::kMaxSyntaxErrorsPerFile, then L013.
  void report(diagnostics::Engine& engine);

 private:
  std::vector<Finding> findings_;
  std::vector<uint32_t> marks_;
};

}  // namespace loop::syntax
