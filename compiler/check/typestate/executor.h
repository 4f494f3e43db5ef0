// Executes a loop's program symbolically: window by window, micro-batch by micro-batch, literally as written.
#pragma once

#include <set>
#include <vector>

#include "compiler/check/typestate/choices.h"
#include "compiler/check/typestate/facts.h"
#include "compiler/check/typestate/trace.h"

namespace loop::check {

/// What has been found wrong and is taken as right from then on, so that one fault does not hide or multiply
/// another.
struct Repairs {
  std::set<const sema::Operation*> disabled;      // executed nowhere
  std::vector<const sema::Operation*> to_update;  // executed once, at the start of the update sequence
  std::vector<const sema::Operation*> to_end;     // executed once, at the end of the update sequence
  std::set<const sema::Operation*> excused;       // its place is taken as right
  bool zero_at_end = false;                       // the gradient is emptied at each window's end
  bool reduce_before_update = false;              // local parts are reduced before the update sequence
  bool graph = false;                             // forward, loss and backward are taken to be there
  bool scale = false;                             // powers of the loss scale are taken as right
  bool factor = false;                            // other factors are taken as right
  bool steps = false;                             // number of steps per group
  bool scaler = false;                            // number and verdicts of update_scale
  bool clocks = false;                            // ticks and averages
};

std::vector<WindowTrace> execute(const sema::Spec& spec, const Facts& facts, const Scenario& scenario,
                                 const Repairs& repairs, Choices& choices);

/// Visits every operation with those enclosed in it, in order of the text.
template <class Visit>
void for_each_operation(const std::vector<sema::Operation>& operations, const Visit& visit) {
  for (const sema::Operation& operation : operations) {
    visit(operation);
    for_each_operation(operation.body, visit);
  }
}

/// All operations of micro, then update.
std::vector<const sema::Operation*> all_operations(const sema::Spec& spec);

}  // namespace loop::check
