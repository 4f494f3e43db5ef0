#include "tests/oracle/world.h"

#include <algorithm>

#include "tests/oracle/executor.h"

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
  Maker(const sema::Spec& spec, int ranks, bool ones, size_t seed)
      : spec_(spec), ranks_(ranks), ones_(ones), equal_(counts_are_equal(spec)), sequence_(977 + 31 * seed) {}

  std::vector<Window> windows() {
    bool flush = spec_.window.tail.value == plan::Tail::flush;
    bool can_be_empty = !equal_ && spec_.window.empty.value == plan::EmptyPolicy::skip;
    // What a window leaves behind must meet a window that shows it, so ordinary ones stand between.
    full();
    full();
    Window& bad = full();
    bad.bad_rank = ranks_ - 1;
    bad.bad_micro = std::max(0, bad.counted - 2);
    Window& holed = full();
    if (!equal_ && (holed.counted > 1 || ranks_ > 1)) clear(holed, 0, ranks_ - 1, 0);
    if (!equal_) {
      // The first rank sees nothing of the first class, nobody anything of the second; then nobody of the
      // first.
      Window& poor = full();
      if (ranks_ > 1) clear(poor, 0, 0);
      for (int r = 0; r < ranks_; ++r) clear(poor, 1, r);
      if (spec_.count_classes.size() > 1) {
        Window& poorer = full();
        for (int r = 0; r < ranks_; ++r) clear(poorer, 0, r);
      }
    }
    full();
    if (can_be_empty) clear(full());
    if (flush) tail(2);
    full();
    Window& late = full();
    late.bad_rank = 0;
    late.bad_micro = late.counted - 1;
    if (flush) {
      tail(1);
      full();
      for (int t = 0; t < kMaxTerms && !equal_ && spec_.count_classes.size() > 1; ++t) {
        Window& poor = tail(1);
        for (int r = 0; r < ranks_; ++r) clear(poor, t, r);
      }
    }
    full();
    return std::move(windows_);
  }

 private:
  Window& full() {
    // One micro-batch and several, in ordinary windows and in those that are not finite.
    constexpr std::array<int, 12> lengths = {3, 1, 2, 4, 2, 3, 2, 1, 4, 1, 2, 1};
    constexpr std::array<int, 12> grown = {1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3};
    size_t index = std::min(windows_.size(), lengths.size() - 1);
    Window window;
    const plan::WindowSize& size = spec_.window.size.value;
    int length = static_cast<int>(size.value);
    if (size.unit != plan::WindowSize::Unit::micro_batches)
      length = lengths[index];
    else if (size.ramp)
      length = std::min(length, grown[index]);
    window.configured = window.counted = ones_ ? 1 : length;
    fill(window);
    windows_.push_back(window);
    return windows_.back();
  }

  /// The short window at the end of the data: fewer micro-batches, and the last rank may lack its last one.
  Window& tail(int counted) {
    Window& window = full();
    window.counted = std::min(window.configured, counted);
    // With one rank and one micro-batch nothing is missing.
    if (ranks_ > 1)
      for (int t = 0; t < kMaxTerms; ++t) clear(window, t, ranks_ - 1, window.counted - 1);
    return window;
  }

  void fill(Window& window) {
    constexpr std::array<int, kMaxTerms> equal_items = {5, 8};  // 8 samples are a micro-batch
    // Strong and weak gradients, so that a middling threshold clips some of them.
    double strength = windows_.size() % 3 != 1 ? 2 : 0.2;
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
  bool ones_;
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
  // Where the number of micro-batches is open it may vary, or be one in every window.
  const plan::WindowSize& size = spec.window.size.value;
  bool open = size.ramp || size.unit != plan::WindowSize::Unit::micro_batches;
  Program program;
  compile(spec, program);
  std::vector<World> worlds;
  for (const Bite& bite : bites)
    for (int r : ranks)
      for (int ones = 0; ones <= open; ++ones) {
        World world;
        world.ranks = r;
        world.tells_apart = bite.norm != bite.value ? 2 : bite.norm != 1 ? 1 : 0;
        // Not where the clip cuts always alone: it hides a constant that happens to equal the loss scale.
        world.scale_divisor = bite.norm == 1 ? 1 : 64;
        world.windows = Maker(spec, r, ones, worlds.size()).windows();
        // "Sometimes" is in proportion to the gradient.
        Sizes usual = usual_sizes(program, world);
        world.norm_scale = bite.norm == 1 ? usual.norm : bite.norm;
        world.value_scale = bite.value == 1 ? usual.element : bite.value;
        world.name =
            "R = " + std::to_string(r) + ", " + bite.name + (ones ? ", one micro-batch per window" : "");
        worlds.push_back(std::move(world));
      }
  return worlds;
}

}  // namespace loop::oracle
