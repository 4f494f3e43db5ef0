// What happened in one window of one execution, as far as a verdict needs it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/check/normalisation/gradient.h"
#include "compiler/operations/table.h"

namespace loop::check {

enum class WindowKind { normal, nonfinite, empty };

/// One executed operation.
struct Event {
  const sema::Operation* operation = nullptr;
  const operations::Entry* entry = nullptr;
  int micro = 0;                           // 0: in the update sequence
  bool rank_dependent = false;             // under a guard that can differ between ranks
  const sema::Operation* guard = nullptr;  // the innermost `when` around it
  bool touched = false;                    // a backward of this window came before it
  bool synchronises = false;               // backward: reduced here
  bool outside_sync_scope = false;         // backward in a sync_on whose forward stands outside
  bool closed = false;                     // this micro-batch's graph has been closed by a backward
  bool need_met = true;                    // the graph need of the table
  std::optional<bool> verdict;             // of unscale, else step, in this window: finite?
  const sema::Operation* verdict_spoiled_by =
      nullptr;        // a division by an empty count that the verdict may see
  Gradient gradient;  // as the operation finds it; kept for what changes or judges the gradient
};

struct WindowTrace {
  int window = 0;
  WindowKind kind = WindowKind::normal;
  bool tail = false;
  int micro_batches = 1;
  int nonfinite_micro = 0;                     // the one whose gradient is not finite; 0: none
  int empty_micro = 0;                         // a micro-batch without counted units; 0: none
  const sema::Operation* undecided = nullptr;  // a guard that asks for a verdict before there is one
  bool applied = false;                        // by the steps' own verdict: clocks and averages move
  std::vector<Event> events;
};

/// A loop's windows to execute.
struct Scenario {
  struct Window {
    WindowKind kind = WindowKind::normal;
    int micro_batches = 1;
    bool tail = false;
    int empty_micro = 0;
    int nonfinite_micro = 0;  // which one, in a non-finite window; 0: the last
  };
  std::vector<Window> windows;
};

}  // namespace loop::check
