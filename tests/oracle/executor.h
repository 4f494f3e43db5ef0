// Runs any program of operations word by word (language.md section 3), in FP64 on a small scalar model, and
// says whether it did what the objective asks for (section 4 and 5). Shares no code with the checker.
#pragma once

#include <string>
#include <vector>

#include "tests/oracle/program.h"
#include "tests/oracle/world.h"

namespace loop::oracle {

enum class Outcome { equal, different, error, diverged };
const char* name(Outcome outcome);

struct Judgement {
  Outcome outcome = Outcome::equal;
  const char* what = "";  // the quantity that differs, or what the error is
  const World* world = nullptr;
  int window = -1;
  int rank = -1;
  int element = -1;
  double found = 0;
  double expected = 0;
};
/// "R = 2, clips never active; window 3, rank 1: parameter 0 is 0.4, the reference has 0.5"
std::string to_text(const Judgement& judgement);

/// What is compared after every window, of one rank.
struct Snapshot {
  double theta[kElements] = {};
  double moment[kElements] = {};
  double average[kElements] = {};
  int steps[kMaxGroups] = {};
  double scale = 1;
  int tracker = 0;  // applied windows since the scale last changed
  double clocks[kClocks] = {};
  int skipped = 0;  // updates not applied in a row: at the limit of `nonfinite` they end the run
};

/// The course of the reference in one world: the objective's gradient by one sum over all samples, one clip
/// of each kind, one step per group. `clip_active` counts windows in which some clip changed the gradient.
std::vector<Snapshot> reference(const Program& program, const World& world, int* clip_active = nullptr);

/// What a gradient's norm and its largest element usually are in one world, at the start of training.
struct Sizes {
  double norm = 0;
  double element = 0;
};
Sizes usual_sizes(const Program& program, const World& world);

/// Executes programs against the worlds of one spec; keeps the references it has computed. Not thread-safe.
class Executor {
 public:
  explicit Executor(const sema::Spec& spec) : worlds_(worlds_of(spec)) {}
  /// `program` must be compiled from a spec that differs from the constructor's in `micro` and `update` only.
  Judgement judge(const Program& program);
  const std::vector<World>& worlds() const { return worlds_; }

 private:
  struct Known {
    std::vector<Clip> clips;
    std::vector<double> rules;
    bool updates_scale;
    std::vector<std::vector<Snapshot>> courses;  // by world; empty until needed
  };
  Known& known(const Program& program);

  std::vector<World> worlds_;
  std::vector<Known> known_;
};

}  // namespace loop::oracle
