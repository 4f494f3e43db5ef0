// The plan's JSON form. `{"format":"loop-plan","version":1,"hash":"…","plan":{…}}`
#pragma once

#include <stdexcept>
#include <string>

#include "runtime/plan/plan.h"

namespace loop::plan {

/// A plan that cannot be used: not a plan, another version, edited, or made from a spec that has changed
/// since.
class PlanError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// 16 hexadecimal digits: FNV-1a over the bytes.
std::string content_hash(std::string_view bytes);

/// Hash of the plan's content and of the format version.
std::string plan_hash(const Plan& plan);

json to_json(const Plan& plan);
/// Throws PlanError when the document is foreign, of another version, incomplete, or does not match its own
/// hash.
Plan from_json(const json& document);

/// Throws PlanError naming the file when a spec file of the plan still exists and its text has changed since.
void refuse_if_stale(const Plan& plan);

}  // namespace loop::plan
