// Three micro-batches stand for any number above two: a guard can tell the first and the last from the
// others, and nothing else can tell the others apart. Three windows stand for any sequence: what a window
// leaves behind shows in the next one.
#include "compiler/check/typestate/scenarios.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "compiler/check/typestate/executor.h"

namespace loop::check {
namespace {

std::vector<int> full_sizes(const Facts& facts) {
  if (facts.micro_batches) return {static_cast<int>(std::clamp<int64_t>(*facts.micro_batches, 1, 3))};
  return {3, 2, 1};
}

bool asks(const std::vector<const sema::Operation*>& operations, std::string_view ending) {
  return std::any_of(operations.begin(), operations.end(), [&](const sema::Operation* operation) {
    if (operation->op.kind != plan::OpKind::when) return false;
    const std::set<std::string> variables = plan::variables(operation->op.condition);
    return std::any_of(variables.begin(), variables.end(),
                       [&](const std::string& variable) { return variable.ends_with(ending); });
  });
}

bool asks_micro_count(const sema::Spec& spec) {
  return asks(all_operations(spec), ".micro");
}

/// A verdict given or asked for within `micro` depends on whether a bad micro-batch comes first or last.
bool judges_in_micro(const sema::Spec& spec) {
  std::vector<const sema::Operation*> micro;
  bool gives = false;
  for_each_operation(spec.micro.operations, [&](const sema::Operation& operation) {
    micro.push_back(&operation);
    gives = gives || operations::entry(operation.op.kind).verdict != operations::Verdict::none;
  });
  return gives || asks(micro, "finite");
}

}  // namespace

std::vector<Scenario> scenarios(const sema::Spec& spec, const Facts& facts) {
  using Window = Scenario::Window;
  std::vector<Scenario> all;
  const std::vector<int> sizes = full_sizes(facts);
  for (const int size : sizes) all.push_back({{{WindowKind::normal, size}, {WindowKind::normal, size}}});
  for (const int size : sizes) {
    const Window normal{WindowKind::normal, size};
    if (facts.short_windows) {
      // A short window can still have all K micro-batches on one rank, and fewer on another.
      for (int short_size = 1; short_size <= size; ++short_size) {
        all.push_back({{normal, {WindowKind::normal, short_size, true}, normal}});
      }
    }
    if (asks_micro_count(spec)) {
      for (int empty = 1; empty <= size; ++empty)
        all.push_back({{{WindowKind::normal, size, false, empty}, normal}});
    }
    if (facts.nonfinite_windows) {
      all.push_back({{{WindowKind::nonfinite, size}, normal}});
      all.push_back({{normal, {WindowKind::nonfinite, size}, normal}});
      if (size > 1 && judges_in_micro(spec))
        all.push_back({{normal, {WindowKind::nonfinite, size, false, 0, 1}, normal}});
    }
    if (facts.empty_windows) {
      all.push_back({{{WindowKind::empty, size}, normal}});
      all.push_back({{normal, {WindowKind::empty, size}, normal}});
    }
  }
  return all;
}

}  // namespace loop::check
