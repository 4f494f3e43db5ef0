#include "tests/oracle/executor.h"

#include <cmath>
#include <cstring>
#include <sstream>

#include "tests/oracle/model.h"

namespace loop::oracle {
namespace {

using plan::OpKind;

/// An operation was used where language.md section 3 says that it is an error.
struct UseError {
  const char* what;
};

class Machine {
 public:
  Machine(const Program& program, const World& world)
      : p_(program),
        world_(world),
        all_((1U << world.ranks) - 1),
        elements_(program.groups * kElementsPerGroup) {
    for (Rank& rank : ranks_) rank.state = start(program, world);
    for (const Instruction& one : program.micro) guarded_micro_ = guarded_micro_ || one.kind == OpKind::when;
    for (const Instruction& one : program.micro) losses_ += one.kind == OpKind::loss;
  }

  /// Throws UseError.
  void run(const Window& window) {
    window_ = &window;
    open();
    for (k_ = 0; k_ < window.counted; ++k_) {
      for (int r = 0; r < world_.ranks; ++r) ranks_[r].outputs = ranks_[r].loss = ranks_[r].closed = false;
      in_micro_ = true;
      execute(p_.micro);
    }
    k_ = window.counted - 1;
    in_micro_ = false;
    if (empty_)
      for (int r = 0; r < world_.ranks; ++r) zero(ranks_[r]);
    else
      execute(p_.update);
    close();
  }

  const Snapshot& state(int rank) const { return ranks_[rank].state; }

 private:
  struct Rank {
    Snapshot state;
    double gradient[kElements] = {};
    // The graph of this micro-batch.
    bool outputs = false, loss = false, closed = false;
    double forward_theta[kElements] = {};  // parameters that the outputs were computed with
    bool forward_synchronises = false;
    double loss_theta[kElements] = {};
    bool loss_synchronises = false;
    double share[kMaxTerms] = {};  // what multiplies the gradient of the term's sum
  };
  enum class Said { nothing, no, yes };

  static void zero(Rank& rank) {
    for (double& value : rank.gradient) value = 0;
  }

  // ---- The window's beginning and end ----

  void open() {
    unscale_said_ = step_said_ = Said::nothing;
    touched_ = false;
    reduced_ = false;
    stepped_ = 0;
    count();
  }

  // Counts are the finished window's wherever they are read, so they are known before it runs: what every
  // `loss` of the window will add.
  void count() {
    empty_ = true;
    for (int c = 0; c < p_.classes; ++c) {
      double global = 0;
      for (int r = 0; r < world_.ranks; ++r) {
        double own = 0;
        for (int k = 0; k < window_->counted; ++k) {
          double added = added_count(p_, *window_, c, r, k) * executions_of_loss(k);
          micro_count_[c][r][k] = added;
          own += added;
        }
        rank_count_[c][r] = own;
        global += own;
      }
      global_count_[c] = finished_count(p_, c, global);
      empty_ = empty_ && global_count_[c] == 0;
    }
  }

  int executions_of_loss(int k) {
    if (!guarded_micro_) return losses_;
    int executions = 0;
    for (int at = 0; at < static_cast<int>(p_.micro.size()); ++at) {
      const Instruction& one = p_.micro[at];
      if (one.kind == OpKind::when && !one.closes && !foreseen(one, k)) at = one.end;
      if (one.kind == OpKind::loss) ++executions;
    }
    return executions;
  }

  void close() {
    bool applied = step_said_ == Said::yes;
    for (int r = 0; r < world_.ranks; ++r) {
      Snapshot& state = ranks_[r].state;
      double by[kClocks] = {};
      by[kAttempts] = 1;
      by[kMicroBatches] = window_->counted;
      by[kTokensSeen] = global_count_[0];
      by[kUpdates] = applied ? 1 : 0;
      by[kTokens] = applied ? global_count_[0] : 0;
      for (int clock = 0; clock < kClocks; ++clock)
        if (!p_.names_clock[clock]) state.clocks[clock] += by[clock];
      if (applied && !p_.names_average) move_average(p_, state.theta, state.average);
      if (applied)
        state.skipped = 0;
      else if (!empty_ || step_said_ == Said::no)
        ++state.skipped;
    }
  }

  // ---- Execution ----

  void execute(const std::vector<Instruction>& list) {
    active_ = all_;
    depth_ = 0;
    sync_scope_ = nullptr;
    for (at_ = 0; at_ < static_cast<int>(list.size()); ++at_) {
      const Instruction& one = list[at_];
      switch (one.kind) {
        case OpKind::forward:
          each([&](Rank& rank, int) { forward(rank); });
          break;
        case OpKind::loss:
          each([&](Rank& rank, int r) { loss(one, rank, r); });
          break;
        case OpKind::scale_loss:
          each([&](Rank& rank, int r) {
            if (!rank.loss) throw UseError{"scale_loss before loss"};
            double by = value(one.factor, r);
            for (int t = 0; t < p_.terms; ++t) rank.share[t] *= by;
          });
          break;
        case OpKind::backward:
          backward();
          break;
        case OpKind::autocast:
          break;
        case OpKind::sync_on:
          sync_scope_ = one.closes ? nullptr : &one;
          break;
        case OpKind::when:
          guard(one);
          break;
        case OpKind::reduce:
          together("a reduction that some ranks skip");
          reduce(one.reduce_mode);
          break;
        case OpKind::unscale:
          together("an unscale that some ranks skip");
          each([&](Rank& rank, int) {
            for (int e = 0; e < elements_; ++e) rank.gradient[e] /= rank.state.scale;
          });
          unscale_said_ = finite() ? Said::yes : Said::no;
          break;
        case OpKind::normalize: {
          together("a normalize that some ranks skip");
          double by = world(list) / global_count_[0];
          each([&](Rank& rank, int) {
            for (int e = 0; e < elements_; ++e) rank.gradient[e] *= by;
          });
          break;
        }
        case OpKind::scale_grad:
          each([&](Rank& rank, int r) {
            double by = value(one.factor, r);
            for (int e = 0; e < elements_; ++e) rank.gradient[e] *= by;
          });
          break;
        case OpKind::clip_norm:
          each([&](Rank& rank, int) { clip_norm(one, rank); });
          break;
        case OpKind::clip_value:
          each([&](Rank& rank, int) { clip_value(one, rank); });
          break;
        case OpKind::step:
          step(one);
          break;
        case OpKind::update_scale: {
          bool good = verdict();
          each([&](Rank& rank, int) { update_scale(p_, good, rank.state.scale, rank.state.tracker); });
          break;
        }
        case OpKind::zero_grad:
          each([&](Rank& rank, int) { zero(rank); });
          break;
        case OpKind::tick:
          each([&](Rank& rank, int) { ++rank.state.clocks[one.clock]; });
          break;
        case OpKind::average:
          each([&](Rank& rank, int) { move_average(p_, rank.state.theta, rank.state.average); });
          break;
      }
    }
  }

  template <class Action>
  void each(Action action) {
    for (int r = 0; r < world_.ranks; ++r)
      if (active_ >> r & 1) action(ranks_[r], r);
  }

  void together(const char* what) {
    if (active_ != all_) throw UseError{what};
  }

  void forward(Rank& rank) {
    rank.outputs = true;
    std::memcpy(rank.forward_theta, rank.state.theta, sizeof rank.forward_theta);
    rank.forward_synchronises = synchronises(sync_scope_, k_);
  }

  bool synchronises(const Instruction* scope, int k) const {
    if (p_.manual) return false;
    if (!scope) return true;
    switch (scope->sync_on) {
      case plan::SyncOn::last:
        return k == window_->counted - 1;
      case plan::SyncOn::first:
        return k == 0;
      case plan::SyncOn::every:
        return true;
      case plan::SyncOn::none:
        return false;
    }
    return false;
  }

  void loss(const Instruction& one, Rank& rank, int r) {
    if (!rank.outputs) throw UseError{"loss before forward"};
    rank.loss = true;
    std::memcpy(rank.loss_theta, rank.forward_theta, sizeof rank.loss_theta);
    rank.loss_synchronises = rank.forward_synchronises;
    for (int t = 0; t < p_.terms; ++t) {
      int c = p_.class_of[t];
      double items = window_->items[t][r][k_];
      double share = p_.weight[t] * own_share(p_, *window_, t, r, k_);
      if (one.loss_mode == plan::LossMode::mean && p_.unit[c] != plan::CountUnit::micro_batch)
        share = items > 0 ? share / items : 0;
      if (one.loss_mode == plan::LossMode::normalized)
        share = global_count_[c] > 0 ? share / global_count_[c] : 0;
      rank.share[t] = share;
    }
  }

  void backward() {
    bool reduces = false;
    double fresh[kMaxRanks][kElements];
    each([&](Rank& rank, int r) {
      if (!rank.loss) throw UseError{"backward before loss"};
      if (rank.closed) throw UseError{"backward twice in one micro-batch"};
      rank.closed = true;
      reduces = reduces || rank.loss_synchronises;
      for (int e = 0; e < elements_; ++e) {
        double sum = 0;
        for (int t = 0; t < p_.terms; ++t)
          sum += rank.share[t] * sum_gradient(*window_, t, r, k_, e, rank.loss_theta[e]);
        fresh[r][e] = sum;
        if (!p_.reduces_only_new) rank.gradient[e] += sum;
      }
      touched_ = true;
    });
    if (reduces) together("a reducing backward that some ranks skip");
    if (!p_.reduces_only_new) {
      if (reduces) reduce(p_.reduce);
      return;
    }
    // The canonical `sync = every`: only the new contribution is reduced, then added.
    for (int e = 0; e < elements_; ++e) {
      double total = 0;
      for (int r = 0; r < world_.ranks; ++r) total += fresh[r][e];
      if (p_.reduce == plan::ReduceMode::mean) total /= world_.ranks;
      for (int r = 0; r < world_.ranks; ++r) ranks_[r].gradient[e] += reduces ? total : fresh[r][e];
    }
    if (reduces) note_reduction(p_.reduce);
  }

  void reduce(plan::ReduceMode mode) {
    for (int e = 0; e < elements_; ++e) {
      double total = 0;
      for (int r = 0; r < world_.ranks; ++r) total += ranks_[r].gradient[e];
      if (mode == plan::ReduceMode::mean) total /= world_.ranks;
      for (int r = 0; r < world_.ranks; ++r) ranks_[r].gradient[e] = total;
    }
    note_reduction(mode);
  }
  void note_reduction(plan::ReduceMode mode) {
    reduced_ = true;
    reduced_as_ = mode;
  }

  // W of `normalize`: R if the nearest reduction before it in the window (if none, the next one) is a mean.
  double world(const std::vector<Instruction>& list) {
    plan::ReduceMode mode = plan::ReduceMode::sum;
    if (reduced_)
      mode = reduced_as_;
    else
      next_reduction(list, mode);
    return mode == plan::ReduceMode::mean ? world_.ranks : 1;
  }
  bool next_reduction(const std::vector<Instruction>& list, plan::ReduceMode& mode) {
    const Rank& rank = ranks_[0];
    Foresight sight{sync_scope_, rank.forward_synchronises, rank.loss_synchronises};
    if (reduction_in(list, at_ + 1, k_, sight, mode)) return true;
    if (!in_micro_) return false;
    for (int k = k_ + 1; k < window_->counted; ++k)
      if (reduction_in(p_.micro, 0, k, sight, mode)) return true;
    return !empty_ && reduction_in(p_.update, 0, k_, sight, mode);
  }
  struct Foresight {
    const Instruction* scope;
    bool forward, loss;
  };
  bool reduction_in(const std::vector<Instruction>& list, int from, int k, Foresight& sight,
                    plan::ReduceMode& mode) {
    for (int at = from; at < static_cast<int>(list.size()); ++at) {
      const Instruction& one = list[at];
      if (one.kind == OpKind::when && !one.closes && !foreseen(one, k)) at = one.end;
      if (one.kind == OpKind::sync_on) sight.scope = one.closes ? nullptr : &one;
      if (one.kind == OpKind::forward) sight.forward = synchronises(sight.scope, k);
      if (one.kind == OpKind::loss) sight.loss = sight.forward;
      if (one.kind == OpKind::reduce) return mode = one.reduce_mode, true;
      if (one.kind == OpKind::backward && sight.loss) return mode = p_.reduce, true;
    }
    return false;
  }

  void clip_norm(const Instruction& one, Rank& rank) {
    double factor = norm_factor(p_, one.groups, one.limit * scale_of(world_, one.kind), rank.gradient);
    if (factor == 1) return;
    for (int g = 0; g < p_.groups; ++g)
      if (one.groups >> g & 1)
        for (int e = 0; e < kElementsPerGroup; ++e) rank.gradient[g * kElementsPerGroup + e] *= factor;
  }
  void clip_value(const Instruction& one, Rank& rank) {
    double limit = one.limit * scale_of(world_, one.kind);
    for (int g = 0; g < p_.groups; ++g)
      if (one.groups >> g & 1)
        for (int e = 0; e < kElementsPerGroup; ++e) {
          double& element = rank.gradient[g * kElementsPerGroup + e];
          if (element > limit) element = limit;
          if (element < -limit) element = -limit;
        }
  }

  void step(const Instruction& one) {
    together("a step that some ranks skip");
    if (stepped_ & one.groups) throw UseError{"a group is stepped twice in one window"};
    stepped_ |= one.groups;
    // One verdict over all groups, ranks and steps of the window: all or none.
    if (step_said_ != Said::no) step_said_ = finite() ? Said::yes : Said::no;
    if (step_said_ == Said::no || !touched_) return;
    each([&](Rank& rank, int) {
      for (int g = 0; g < p_.groups; ++g)
        if (one.groups >> g & 1) apply(p_.rules[one.rule], g, rank.gradient, rank.state);
    });
  }

  bool finite() const {
    for (int r = 0; r < world_.ranks; ++r)
      for (int e = 0; e < elements_; ++e)
        if (!std::isfinite(ranks_[r].gradient[e])) return false;
    return true;
  }

  bool verdict() const {
    Said said = unscale_said_ != Said::nothing ? unscale_said_ : step_said_;
    if (said == Said::nothing) throw UseError{"a verdict is asked for before unscale or step gave one"};
    return said == Said::yes;
  }

  // ---- Guards ----

  void guard(const Instruction& one) {
    if (one.closes) {
      active_ = masks_[--depth_];
      return;
    }
    unsigned holds = 0;
    each([&](Rank&, int r) {
      if (condition(one, r, k_, false)) holds |= 1U << r;
    });
    if (holds == 0) {
      at_ = one.end;
      return;
    }
    if (depth_ == kMaxDepth) throw UseError{"guards nested too deep for the oracle"};
    masks_[depth_++] = active_;
    active_ = holds;
  }

  bool foreseen(const Instruction& one, int k) { return condition(one, 0, k, true); }

  // `ahead`: asked before the window has run, when a verdict is taken to be good.
  bool condition(const Instruction& one, int r, int k, bool ahead) const {
    auto result = plan::evaluate(*one.condition, [&](std::string_view name) -> std::optional<double> {
      if (name == "first") return k == 0;
      if (name == "last") return k == window_->counted - 1;
      if (name == "finite") return ahead || verdict();
      const Snapshot& state = ranks_[r].state;
      if (name == "updates") return state.clocks[kUpdates];
      if (name == "attempts") return state.clocks[kAttempts];
      for (int c = 0; c < p_.classes; ++c) {
        std::string_view unit = p_.unit_name[c];
        if (name.size() <= unit.size() + 1 || name.substr(0, unit.size()) != unit) continue;
        std::string_view of = name.substr(unit.size() + 1);
        if (of == "global") return global_count_[c];
        if (of == "rank") return rank_count_[c][r];
        if (of == "micro") return micro_count_[c][r][k];
      }
      return std::nullopt;
    });
    if (!result) throw UseError{"a condition that cannot be decided here"};
    return *result != 0;
  }

  static double power(double base, int exponent) {
    double result = 1;
    for (int i = 0; i < std::abs(exponent); ++i) result *= base;
    return exponent < 0 ? 1 / result : result;
  }
  double value(const FlatFactor& factor, int r) const {
    double result = factor.number;
    if (factor.scale) result *= power(ranks_[r].state.scale, factor.scale);
    if (factor.configured) result *= power(window_->configured, factor.configured);
    if (factor.counted) result *= power(window_->counted, factor.counted);
    if (factor.ranks) result *= power(world_.ranks, factor.ranks);
    for (int c = 0; c < p_.classes; ++c) {
      if (factor.global[c]) result *= power(global_count_[c], factor.global[c]);
      if (factor.rank[c]) result *= power(rank_count_[c][r], factor.rank[c]);
      if (factor.micro[c]) result *= power(micro_count_[c][r][k_], factor.micro[c]);
    }
    return result;
  }

  static constexpr int kMaxDepth = 16;

  const Program& p_;
  const World& world_;
  const Window* window_ = nullptr;
  unsigned all_;
  int elements_;
  bool guarded_micro_ = false;
  int losses_ = 0;
  Rank ranks_[kMaxRanks];

  // Of the window.
  double micro_count_[kMaxTerms][kMaxRanks][kMaxMicroBatches] = {};
  double rank_count_[kMaxTerms][kMaxRanks] = {};
  double global_count_[kMaxTerms] = {};
  bool empty_ = false;
  bool touched_ = false;
  unsigned stepped_ = 0;  // groups, one bit each
  bool reduced_ = false;
  plan::ReduceMode reduced_as_ = plan::ReduceMode::sum;
  Said unscale_said_ = Said::nothing, step_said_ = Said::nothing;

  // Of the execution.
  int k_ = 0;
  int at_ = 0;
  bool in_micro_ = false;
  const Instruction* sync_scope_ = nullptr;
  unsigned active_ = 0;
  unsigned masks_[kMaxDepth] = {};
  int depth_ = 0;
};

bool same(double a, double b) {
  constexpr double tolerance = 1e-9;
  if (a == b) return true;
  return std::abs(a - b) <= tolerance * std::max({std::abs(a), std::abs(b), 1e-3});  // false for not a number
}

/// Fills what differs first. `what` stays empty when nothing does.
void compare(const Program& p, const Snapshot& found, const Snapshot& expected, Judgement& judgement) {
  auto check = [&](double a, double b, const char* what, int element) {
    if (*judgement.what || same(a, b)) return;
    judgement.what = what;
    judgement.element = element;
    judgement.found = a;
    judgement.expected = b;
  };
  for (int e = 0; e < p.groups * kElementsPerGroup; ++e) {
    check(found.theta[e], expected.theta[e], "parameter", e);
    check(found.moment[e], expected.moment[e], "moment", e);
    check(found.average[e], expected.average[e], "average", e);
  }
  for (int g = 0; g < p.groups; ++g) check(found.steps[g], expected.steps[g], "number of steps of group", g);
  check(found.scale, expected.scale, "loss scale", -1);
  check(found.skipped, expected.skipped, "number of skipped updates in a row", -1);
  check(found.tracker, expected.tracker, "growth count of the scaler", -1);
  static constexpr const char* clocks[kClocks] = {"clock updates", "clock attempts", "clock micro_batches",
                                                  "clock tokens", "clock tokens_seen"};
  for (int clock = 0; clock < kClocks; ++clock)
    check(found.clocks[clock], expected.clocks[clock], clocks[clock], -1);
}

Judgement run(const Program& program, const World& world, const std::vector<Snapshot>& course) {
  Judgement judgement;
  judgement.world = &world;
  Machine machine(program, world);
  for (size_t w = 0; w < world.windows.size(); ++w) {
    judgement.window = static_cast<int>(w);
    try {
      machine.run(world.windows[w]);
    } catch (const UseError& error) {
      judgement.outcome = Outcome::error;
      judgement.what = error.what;
      return judgement;
    }
    for (int r = 1; r < world.ranks; ++r) {
      compare(program, machine.state(r), machine.state(0), judgement);
      if (!*judgement.what) continue;
      judgement.outcome = Outcome::diverged;
      judgement.rank = r;
      return judgement;
    }
    compare(program, machine.state(0), course[w], judgement);
    if (*judgement.what) {
      judgement.outcome = Outcome::different;
      judgement.rank = 0;
      return judgement;
    }
  }
  return judgement;
}

}  // namespace

Executor::Known& Executor::known(const Program& program) {
  std::vector<double> rules;
  for (int g = 0; g < program.groups; ++g) {
    const Rule& rule = program.rules[program.rule_of[g]];
    rules.insert(rules.end(), rule.lr.begin(), rule.lr.end());
    rules.push_back(rule.momentum);
    rules.push_back(rule.weight_decay);
  }
  for (Known& one : known_)
    if (one.updates_scale == program.updates_scale && one.clips == program.clips && one.rules == rules)
      return one;
  known_.push_back({program.clips, std::move(rules), program.updates_scale, {}});
  known_.back().courses.resize(worlds_.size());
  return known_.back();
}

Judgement Executor::judge(const Program& program) {
  Judgement judgement;
  if (!program.error.empty()) {
    judgement.outcome = Outcome::error;
    judgement.what = program.error.c_str();
    return judgement;
  }
  Known& known = this->known(program);
  bool by_norm = false, by_value = false;
  for (const Clip& clip : program.clips) (clip.kind == OpKind::clip_norm ? by_norm : by_value) = true;
  for (size_t w = 0; w < worlds_.size(); ++w) {
    if (worlds_[w].tells_apart > (by_norm && by_value ? 2 : by_norm || by_value ? 1 : 0)) continue;
    if (known.courses[w].empty()) known.courses[w] = reference(program, worlds_[w]);
    judgement = run(program, worlds_[w], known.courses[w]);
    if (judgement.outcome != Outcome::equal) return judgement;
  }
  return judgement;
}

const char* name(Outcome outcome) {
  switch (outcome) {
    case Outcome::equal:
      return "equal";
    case Outcome::different:
      return "different";
    case Outcome::error:
      return "error";
    case Outcome::diverged:
      return "ranks diverged";
  }
  return "";
}

std::string to_text(const Judgement& judgement) {
  std::ostringstream out;
  out.precision(12);
  out << name(judgement.outcome);
  if (judgement.outcome == Outcome::equal) return out.str();
  if (judgement.world) out << " (" << judgement.world->name << "; window " << judgement.window << ")";
  out << ": " << judgement.what;
  if (judgement.rank < 0) return out.str();
  if (judgement.element >= 0) out << " " << judgement.element;
  out << " of rank " << judgement.rank << " is " << judgement.found
      << (judgement.outcome == Outcome::diverged ? ", of rank 0 it is " : ", the reference has ")
      << judgement.expected;
  return out.str();
}

}  // namespace loop::oracle
