// Compares what one execution of the program did with what the reference does, and names the first
// difference.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/check/finding.h"
#include "compiler/check/normalisation/compare.h"
#include "compiler/check/typestate/executor.h"
#include "compiler/check/typestate/group_index.h"

namespace loop::check {

struct JudgeContext {
  const sema::Spec& spec;
  const Facts& facts;
  const Repairs& repairs;
  const std::vector<WindowTrace>& traces;
  const WindowTrace& trace;                               // the window that is judged, one of `traces`
  const std::vector<const sema::Operation*>& operations;  // of micro, then update
  const GroupIndex& groups;

  const operations::Entry& entry(const sema::Operation& operation) const {
    return operations::entry(operation.op.kind);
  }
  /// Three micro-batches stand for any larger number, fewer for themselves.
  Identities identities() const {
    return Identities(facts, {trace.tail, false, trace.micro_batches < 3 ? trace.micro_batches : 0});
  }
  Comparison compare(const Gradient& gradient) const;

  /// "micro-batch 2 of 4"
  std::string micro(int index) const;
  /// "micro-batches 1 to 3 of 4", for a list of indices.
  std::string micros(const std::vector<int>& indices) const;
  /// "in the last window of an epoch", "in a window with a non-finite gradient" …; empty for an ordinary one.
  std::string window_words() const;
  /// The first operation of this kind in the text that is not disabled; null when there is none.
  const sema::Operation* first(plan::OpKind kind) const;
  /// Where something that should stand in `update` would stand.
  base::Span update_span() const;
  base::Span span_of(const sema::Operation& operation) const { return operation.span; }
};

/// The innermost `when` of the text around an operation; null without one.
const sema::Operation* guard_of(const sema::Spec& spec, const sema::Operation& operation);
/// The first event of this kind after `from` (at 0: from the window's beginning on); null without one.
const Event* event_after(const WindowTrace& trace, size_t from, plan::OpKind kind);

/// Index of the last event that accumulates; -1 without one.
int last_backward(const WindowTrace& trace);

/// In the order in which they are asked. Each gives the first fault of its kind or nothing.
std::optional<Finding> judge_graph(const JudgeContext& context);
std::optional<Finding> judge_counts(const JudgeContext& context);
std::optional<Finding> judge_guards(const JudgeContext& context);
std::optional<Finding> judge_inside_window(const JudgeContext& context);
std::optional<Finding> judge_clips(const JudgeContext& context);
std::optional<Finding> judge_steps(const JudgeContext& context);
std::optional<Finding> judge_divisions(const JudgeContext& context);
std::optional<Finding> judge_scaler(const JudgeContext& context);
std::optional<Finding> judge_clocks(const JudgeContext& context);

std::optional<Finding> judge(const JudgeContext& context);

}  // namespace loop::check
