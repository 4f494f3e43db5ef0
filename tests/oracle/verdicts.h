// Both verdicts on one program, and the disagreements found so far.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/diagnostics/engine.h"
#include "tests/oracle/executor.h"
#include "tests/oracle/mutations.h"

namespace loop::oracle {

struct Disagreement {
  std::string setting;
  std::string program;
  std::string execution;
  std::vector<std::string> diagnostics;
  size_t tokens = 0;  // the shortest is shown
};

/// Disagreements of one cause as far as that can be told: same kind of evidence, same codes.
struct Cause {
  size_t count = 0;
  std::vector<Disagreement> shown;
};

struct Tally {
  size_t programs = 0;
  size_t right = 0;    // executed equal to the reference
  size_t outside = 0;  // another family has an error: the promise does not hold for it
  size_t misses = 0;
  size_t false_alarms = 0;
  std::map<std::string, Cause> causes;
  void add(const Tally& other, size_t shown);
};

/// Judges programs of one setting by execution and by the checker.
class Court {
 public:
  Court(const Setting& setting, size_t shown)
      : name_(to_text(setting)), shown_(shown), builder_(setting), executor_(builder_.spec()) {}

  /// True when execution finds it equal to the reference.
  bool judge(const Tokens& tokens);
  const Tally& tally() const { return tally_; }
  const Executor& executor() const { return executor_; }

 private:
  void note(const std::string& cause, const sema::Spec& spec, const Judgement& judgement,
            const diagnostics::Engine& engine, size_t length);

  std::string name_;
  size_t shown_;
  SpecBuilder builder_;
  Executor executor_;
  Program program_;
  Tally tally_;
};

}  // namespace loop::oracle
