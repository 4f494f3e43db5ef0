#include "runtime/gradients/partition.h"

#include <algorithm>

#include "loop/error.h"
#include "runtime/plan/glob.h"

namespace loop::gradients {
namespace {

constexpr size_t kNamesShown = 8;

bool mentions_others(const plan::Predicate& predicate) {
  return predicate.kind == plan::Predicate::Kind::others ||
         std::any_of(predicate.operands.begin(), predicate.operands.end(), mentions_others);
}

bool compare(int64_t left, const std::string& comparison, int64_t right) {
  if (comparison == "<") return left < right;
  if (comparison == "<=") return left <= right;
  if (comparison == ">") return left > right;
  if (comparison == ">=") return left >= right;
  if (comparison == "==") return left == right;
  if (comparison == "!=") return left != right;
  throw Error(ErrorKind::internal, "A predicate compares `ndim` with \"" + comparison + "\"");
}

/// `unclaimed`: no group without `others` takes the candidate.
bool holds(const plan::Predicate& predicate, const Candidate& candidate, bool unclaimed) {
  using Kind = plan::Predicate::Kind;
  const auto operand_holds = [&](const plan::Predicate& operand) {
    return holds(operand, candidate, unclaimed);
  };
  switch (predicate.kind) {
    case Kind::all:
      return true;
    case Kind::others:
      return unclaimed;
    case Kind::name_glob:
      return plan::glob_match(predicate.glob, candidate.name);
    case Kind::ndim:
      return compare(candidate.ndim, predicate.comparison, predicate.ndim);
    case Kind::logical_and:
      return std::all_of(predicate.operands.begin(), predicate.operands.end(), operand_holds);
    case Kind::logical_or:
      return std::any_of(predicate.operands.begin(), predicate.operands.end(), operand_holds);
    case Kind::logical_not:
      return std::none_of(predicate.operands.begin(), predicate.operands.end(), operand_holds);
  }
  throw Error(ErrorKind::internal, "A group's predicate is of an unknown kind");
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) text += (i ? ", " : "") + names[i];
  if (names.size() > kNamesShown) text += " and " + std::to_string(names.size() - kNamesShown) + " more";
  return text;
}

std::string at(const plan::Group& group) {
  return group.place.line ? plan::to_text(group.place) + ": " : std::string();
}

/// Tied names that an empty group's predicate would have taken, each with the name it is known under.
std::vector<std::string> tied_matches(const plan::Group& group, const std::vector<Candidate>& candidates) {
  std::vector<std::string> matches;
  for (const Candidate& candidate : candidates)
    for (const std::string& other : candidate.other_names)
      if (holds(group.predicate, Candidate{other, {}, candidate.ndim}, false))
        matches.push_back(other + " (the same tensor as " + candidate.name + ")");
  return matches;
}

}  // namespace

std::vector<size_t> partition(const std::vector<plan::Group>& groups,
                              const std::vector<Candidate>& candidates) {
  std::vector<size_t> owners(candidates.size(), groups.size());
  std::vector<size_t> members(groups.size(), 0);
  std::vector<std::string> homeless;
  for (size_t c = 0; c < candidates.size(); ++c) {
    const Candidate& candidate = candidates[c];
    const bool unclaimed = std::none_of(groups.begin(), groups.end(), [&](const plan::Group& group) {
      return !mentions_others(group.predicate) && holds(group.predicate, candidate, false);
    });
    for (size_t g = 0; g < groups.size(); ++g) {
      if (!holds(groups[g].predicate, candidate, unclaimed)) continue;
      if (owners[c] != groups.size())
        throw Error(ErrorKind::findings,
                    at(groups[g]) + "Parameter " + candidate.name + " is in two groups, `" +
                        groups[owners[c]].name + "` and `" + groups[g].name + "`",
                    "Every trainable parameter belongs to exactly one group: narrow one of the two.");
      owners[c] = g;
      ++members[g];
    }
    if (owners[c] == groups.size()) homeless.push_back(candidate.name);
  }
  if (!homeless.empty())
    throw Error(
        ErrorKind::findings,
        (homeless.size() == 1 ? "Parameter " + listed(homeless) + " is"
                              : std::to_string(homeless.size()) + " parameters are") +
            " in no group" + (homeless.size() == 1 ? "" : ": " + listed(homeless)),
        "Add a group for the rest, such as `rest = others`, or freeze them: `fixed = frozen(others)`.");
  for (size_t g = 0; g < groups.size(); ++g) {
    if (members[g]) continue;
    const std::vector<std::string> tied = tied_matches(groups[g], candidates);
    if (!tied.empty())
      throw Error(ErrorKind::findings,
                  at(groups[g]) + "Group `" + groups[g].name +
                      "` takes only second names of tied tensors: " + listed(tied),
                  "Use the tensor's first name.");
    std::vector<std::string> names;
    for (const Candidate& candidate : candidates) names.push_back(candidate.name);
    throw Error(ErrorKind::findings, at(groups[g]) + "Group `" + groups[g].name + "` has no parameter",
                names.empty() ? "The model has no trainable parameter."
                              : "The model's parameters are: " + listed(names) + ".");
  }
  return owners;
}

}  // namespace loop::gradients
