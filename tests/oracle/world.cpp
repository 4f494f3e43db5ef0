#include "tests/oracle/world.h"

#include <algorithm>

namespace loop::oracle {
namespace {

/// A fixed sequence of numbers: the same worlds on every machine.
class Sequence {
 public:
  explicit Sequence(uint64_t seed) : state_(seed) {}
  /// In [low, high].
  int integer(int low, int high) {
    return low + static_cast<int>(next() % static_cast<uint64_t>(high - low + 1));
  }
  double real(double low, double high) {
    return low + (high - low) * static_cast<double>(next() % 1000003) / 1000003.0;
  }

 private:
  uint64_t next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return state_ >> 33;
  }
  uint64_t state_;
};

class Maker {
 public:
  Maker(const sema::Spec& spec, int ranks)
      : spec_(spec), ranks_(ranks), equal_(counts_are_equal(spec)), sequence_(977 + 31 * ranks) {}

  std::vector<Window> windows() {
    bool flush = spec_.window.tail.value == plan::Tail::flush;
    bool can_be_empty = !equal_ && spec_.window.empty.value == plan::EmptyPolicy::skip;
    full(0);
    full(1);
    Window& bad = full(2);
    bad.bad_rank = ranks_ - 1;
    bad.bad_micro = std::max(0, bad.counted - 2);
    Window& holed = full(3);
    if (!equal_ && (holed.counted > 1 || ranks_ > 1)) clear(holed, 0, ranks_ - 1, 0);
    if (can_be_empty) clear(full(4));
    if (!equal_) {
      // The first rank sees nothing of the first class, nobody anything of the second; then nobody of the
      // first.
      Window& poor = full(5);
      if (ranks_ > 1) clear(poor, 0, 0);
      for (int r = 0; r < ranks_; ++r) clear(poor, 1, r);
      Window& poorer = full(6);
      for (int r = 0; r < ranks_; ++r) clear(poorer, 0, r);
    }
    if (flush) tail(2);
    full(8);
    Window& late = full(7);
    late.bad_rank = 0;
    late.bad_micro = late.counted - 1;
    if (flush) tail(1);
    full(9);
    return std::move(windows_);
  }

 private:
  Window& full(int index) {
    Window window;
    const plan::WindowSize& size = spec_.window.size.value;
    if (size.unit != plan::WindowSize::Unit::micro_batches) {
      constexpr std::array<int, 5> lengths = {3, 1, 2, 4, 2};
      window.configured = window.counted = lengths[index % 5];
    } else if (size.ramp) {
      int last = static_cast<int>(size.value);
      window.configured = window.counted = std::min(last, static_cast<int>(size.ramp->from) + index / 2);
    } else {
      window.configured = window.counted = static_cast<int>(size.value);
    }
    fill(window);
    windows_.push_back(window);
    return windows_.back();
  }

  /// The short window at the end of the data: fewer micro-batches, and the last rank may lack its last one.
  void tail(int counted) {
    Window& window = full(static_cast<int>(windows_.size()));
    window.counted = std::min(window.configured, counted);
    // With one rank and one micro-batch nothing is missing.
    if (ranks_ > 1)
      for (int t = 0; t < kMaxTerms; ++t) clear(window, t, ranks_ - 1, window.counted - 1);
  }

  void fill(Window& window) {
    constexpr std::array<int, kMaxTerms> equal_items = {4, 3};
    // Strong and weak gradients in turn, so that a middling threshold clips some of them.
    double strength = windows_.size() % 2 == 0 ? 2 : 0.2;
    for (int t = 0; t < kMaxTerms; ++t)
      for (int r = 0; r < ranks_; ++r)
        for (int k = 0; k < window.counted; ++k) {
          int items = equal_ ? equal_items[t] : sequence_.integer(1, 7);
          window.items[t][r][k] = items;
          for (double& target : window.target[t][r][k]) target = items * sequence_.real(-2.5, 3.0) * strength;
        }
  }

  void clear(Window& window, int t, int r, int k) {
    window.items[t][r][k] = 0;
    for (double& target : window.target[t][r][k]) target = 0;
  }
  void clear(Window& window, int t, int r) {
    for (int k = 0; k < window.counted; ++k) clear(window, t, r, k);
  }
  void clear(Window& window) {
    for (int t = 0; t < kMaxTerms; ++t)
      for (int r = 0; r < ranks_; ++r)
        for (int k = 0; k < window.counted; ++k) clear(window, t, r, k);
  }

  const sema::Spec& spec_;
  int ranks_;
  bool equal_;
  Sequence sequence_;
  std::vector<Window> windows_;
};

}  // namespace

bool counts_are_equal(const sema::Spec& spec) {
  if (spec.data.train < 0 || spec.window.size.value.unit != plan::WindowSize::Unit::micro_batches)
    return false;
  const sema::SourceFacts& source = spec.data.sources[spec.data.train].facts;
  bool equal = source.known && source.equal_counts && !source.split_by_file &&
               spec.data.short_policy.value == plan::ShortPolicy::drop;
  for (const sema::LossTerm& term : spec.terms) {
    equal = equal && term.facts.known && !term.facts.masked;
    plan::CountUnit unit = spec.count_classes[term.term.count_class].unit;
    equal = equal && unit != plan::CountUnit::boxes && unit != plan::CountUnit::class_weight;
  }
  return equal;
}

std::vector<World> worlds_of(const sema::Spec& spec) {
  std::vector<int> ranks = {2, 3, 1};
  if (spec.ranks.value) ranks = {static_cast<int>(*spec.ranks.value)};
  struct Bite {
    double norm, value;
    const char* name;
  };
  constexpr double often = 1e-3, idle = 1e6;
  constexpr std::array<Bite, 7> bites = {{{1, 1, "clips sometimes active"},
                                          {often, often, "clips always active"},
                                          {idle, idle, "clips never active"},
                                          {1, idle, "clip by norm sometimes active, by value never"},
                                          {idle, 1, "clip by value sometimes active, by norm never"},
                                          {often, idle, "clip by norm always active, by value never"},
                                          {idle, often, "clip by value always active, by norm never"}}};
  std::vector<World> worlds;
  for (const Bite& bite : bites) {
    for (int r : ranks) {
      World world;
      world.ranks = r;
      world.norm_scale = bite.norm;
      world.value_scale = bite.value;
      world.scale_divisor = bite.norm == often ? 64 : 1;
      world.windows = Maker(spec, r).windows();
      world.name = "R = " + std::to_string(r) + ", " + bite.name;
      worlds.push_back(std::move(world));
    }
  }
  return worlds;
}

}  // namespace loop::oracle
