// What a loop leaves open and what it fixes: the ranges over which a verdict must hold.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/sema/spec.h"

namespace loop::check {

struct ClassFacts {
  bool equal = false;               // every full micro-batch has the same count, nothing masked
  bool never_empty = false;         // no micro-batch has a count of zero
  std::optional<double> per_micro;  // the count of a full micro-batch, where the spec fixes it
  std::optional<double> global;     // N of a full window, where the spec fixes it (windows in samples)
  std::optional<double> constant;   // `per 64`, `per window`
  bool at_least = false;
};

struct Facts {
  std::optional<int64_t> ranks;
  bool fp16 = false;
  bool micro_window = false;             // windows in micro-batches: K is configured
  std::optional<int64_t> micro_batches;  // K, when it is one number
  bool always_one = false;               // every window has one micro-batch
  bool short_windows = false;            // a window can end before its K micro-batches (tail = flush)
  bool short_micro_batches = false;      // the last micro-batch of an epoch can have fewer samples
  bool uneven_full_windows = false;      // in a full window a rank can have empty micro-batches
  bool empty_windows = false;            // a window can have no counted unit, and is skipped then
  bool nonfinite_windows = false;  // an update with a non-finite gradient is skipped, and training goes on
  std::vector<ClassFacts> classes;

  bool one_rank() const { return ranks == 1; }
};

Facts facts_of(const sema::Spec& spec);

/// How a count class is called in messages: its unit, or its first term's name when several classes share the
/// unit.
std::string class_name(const sema::Spec& spec, int count_class);

}  // namespace loop::check
