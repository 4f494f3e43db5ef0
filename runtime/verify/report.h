// What `loopc verify` says: for a person, and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>

#include "runtime/verify/causes.h"
#include "runtime/verify/comparison.h"

namespace loop::verify {

/// One comparison: one window on one number of ranks.
struct Trial {
  int64_t ranks = 1;
  int64_t window = 1;  // 1-based
  int64_t micro_batches = 0;
  int64_t samples = 0;
  std::vector<std::pair<std::string, double>> counts;  // unit, N
  bool tail = false;
  bool clipped = false;  // compared after the clips of the plan
  size_t worst_rank = 0;
  Comparison comparison;
  std::optional<Diagnosis> diagnosis;  // when not equal
  std::string cause;
};

struct Report {
  std::string loop;
  double tolerance = 1e-10;
  std::vector<std::string> notes;
  std::vector<Trial> trials;
  bool equal() const;
};

void write_text(std::ostream& out, const Report& report);
/// {"format":"loop-verify","version":1,"equal":…,"trials":[…]}
nlohmann::ordered_json to_json(const Report& report);

}  // namespace loop::verify
