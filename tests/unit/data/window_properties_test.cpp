// What must hold for windows of every unit, policy, number of ranks and micro-batch: many random
// configurations, fixed seeds.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "tests/unit/data/window_reference.h"

using namespace loop::data;
using namespace loop::data::test;
using loop::plan::ShortPolicy;
using loop::plan::Tail;
using Unit = loop::plan::WindowSize::Unit;

namespace {

struct Random {
  std::mt19937_64 engine;
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() % (high - low + 1));
  }
};

// Any configuration that can form a window.
WindowFormerOptions random_options(Random& random) {
  WindowFormerOptions o;
  o.size_samples = random.between(1, 60);
  o.seed = random.engine();
  o.order = random.between(0, 3) == 0 ? loop::plan::Order::sequential : loop::plan::Order::shuffled;
  o.micro_batch_samples = random.between(1, 7);
  o.ranks = random.between(1, 5);
  o.window.unit = static_cast<Unit>(random.between(0, 3));
  o.tail = static_cast<Tail>(random.between(0, 2));
  o.short_policy = static_cast<ShortPolicy>(random.between(0, 2));
  std::vector<int64_t> tokens(o.size_samples);
  for (int64_t& count : tokens) count = random.between(0, 6);
  tokens[0] = 4;  // something counts
  o.tokens = [tokens](int64_t sample) { return tokens[sample]; };
  o.positions = [tokens](int64_t sample) { return tokens[sample] + 2; };
  const bool counted = o.window.unit != Unit::micro_batches;
  if (counted && o.short_policy == ShortPolicy::drop) o.short_policy = ShortPolicy::keep;
  if (o.short_policy == ShortPolicy::drop && o.micro_batch_samples * o.ranks > o.size_samples) {
    o.micro_batch_samples = 1;
    o.ranks = 1;
  }
  o.window.value = random.between(1, counted ? 120 : 12);
  if (o.tail == Tail::drop) {  // an epoch must hold a window
    int64_t units = 0;
    const int64_t global = o.micro_batch_samples * o.ranks;
    if (o.window.unit == Unit::micro_batches) {
      units = o.short_policy == ShortPolicy::drop ? o.size_samples / global
                                                  : (o.size_samples + global - 1) / global;
    }
    if (o.window.unit == Unit::samples) units = o.size_samples;
    for (int64_t i = 0; i < o.size_samples; ++i) {
      if (o.window.unit == Unit::tokens) units += o.tokens(i);
      if (o.window.unit == Unit::positions) units += o.positions(i);
    }
    o.window.value = std::min(o.window.value, units);
  }
  return o;
}

// The same window on every rank.
std::vector<WindowFormer::Bounded> on_all_ranks(std::vector<WindowFormer>& formers, int64_t epochs) {
  std::vector<WindowFormer::Bounded> windows;
  for (WindowFormer& former : formers) windows.push_back(former.next_until(epochs));
  return windows;
}

std::vector<WindowFormer> formers_of(WindowFormerOptions o) {
  std::vector<WindowFormer> formers;
  for (o.rank = 0; o.rank < o.ranks; ++o.rank) formers.emplace_back(o);
  return formers;
}

// Undoes the dealing: micro-batch by micro-batch, row by row, rank by rank.
std::vector<int64_t> in_global_order(const std::vector<WindowFormer::Bounded>& ranks, bool micro_batches) {
  std::vector<int64_t> members;
  if (micro_batches) {
    for (size_t k = 0; k < ranks[0].window.micro.size(); ++k) {
      for (size_t row = 0; row < ranks[0].window.micro[k].samples.size(); ++row) {
        for (const auto& rank : ranks) {
          if (row < rank.window.micro[k].samples.size()) members.push_back(rank.window.micro[k].samples[row]);
        }
      }
    }
    return members;
  }
  std::vector<std::vector<int64_t>> lists;
  for (const auto& rank : ranks) {
    lists.emplace_back();
    for (const MicroBatchPlan& micro : rank.window.micro) {
      lists.back().insert(lists.back().end(), micro.samples.begin(), micro.samples.end());
    }
  }
  for (size_t row = 0; row < lists[0].size(); ++row) {
    for (const auto& list : lists) {
      if (row < list.size()) members.push_back(list[row]);
    }
  }
  return members;
}

std::vector<int64_t> all_members(const WindowFormerOptions& o, int64_t windows) {
  std::vector<WindowFormer> formers = formers_of(o);
  std::vector<int64_t> members;
  for (int64_t w = 0; w < windows; ++w) {
    const auto part = in_global_order(on_all_ranks(formers, 1000), o.window.unit == Unit::micro_batches);
    members.insert(members.end(), part.begin(), part.end());
    members.push_back(-1);  // end of window
  }
  return members;
}

}  // namespace

TEST_CASE("windows are those of the definition, on every rank alike") {
  Random random{std::mt19937_64(2024)};
  for (int trial = 0; trial < 3000; ++trial) {
    const WindowFormerOptions o = random_options(random);
    const int64_t epochs = random.between(1, 4);
    CAPTURE(trial);
    const std::vector<ReferenceWindow> expected = reference_windows(o, epochs);
    std::vector<WindowFormer> formers = formers_of(o);
    int64_t finished = 0;
    for (size_t w = 0;; ++w) {
      const auto ranks = on_all_ranks(formers, epochs);
      const WindowPlan& window = ranks[0].window;
      if (w == expected.size()) {
        REQUIRE_FALSE(ranks[0].complete);
        REQUIRE(window.micro.empty());
        break;
      }
      REQUIRE(ranks[0].complete == expected[w].complete);
      finished += expected[w].complete;
      REQUIRE(in_global_order(ranks, o.window.unit == Unit::micro_batches) == expected[w].members);
      REQUIRE(window.tail == expected[w].tail);
      int64_t tokens = 0, positions = 0;
      for (int64_t sample : expected[w].members) tokens += o.tokens(sample), positions += o.positions(sample);
      for (const auto& rank : ranks) {
        REQUIRE(rank.window.tokens == tokens);
        REQUIRE(rank.window.positions == positions);
        REQUIRE(rank.window.samples == static_cast<int64_t>(expected[w].members.size()));
        REQUIRE(rank.window.micro_batches == window.micro_batches);
        REQUIRE(rank.window.micro.size() == static_cast<size_t>(window.micro_batches));
        REQUIRE(rank.window.tail == window.tail);
        REQUIRE(rank.window.ends_epoch == window.ends_epoch);
        REQUIRE(rank.window.epochs_after == window.epochs_after);
        REQUIRE(rank.window.lost_samples == window.lost_samples);
      }
      for (int64_t k = 0; k < window.micro_batches; ++k) {
        for (const auto& rank : ranks) {
          const MicroBatchPlan& micro = rank.window.micro[k];
          const auto rows = static_cast<int64_t>(micro.samples.size());
          REQUIRE(rows <= o.micro_batch_samples);
          // Dealt in turn: rank 0 has at most one more than any other in a global micro-batch.
          if (o.window.unit == Unit::micro_batches) {
            REQUIRE(static_cast<int64_t>(window.micro[k].samples.size()) - rows <= 1);
          }
          REQUIRE(micro.padding_rows ==
                  (o.short_policy == ShortPolicy::pad ? o.micro_batch_samples - rows : 0));
        }
      }
      if (!expected[w].complete) break;
    }
    REQUIRE(count_windows(o, epochs) == finished);
  }
}

TEST_CASE("an epoch deals every sample once, but for those it says are lost") {
  Random random{std::mt19937_64(7)};
  for (int trial = 0; trial < 1500; ++trial) {
    const WindowFormerOptions o = random_options(random);
    const int64_t epochs = random.between(1, 3);
    CAPTURE(trial);
    std::vector<WindowFormer> formers = formers_of(o);
    std::map<int64_t, int64_t> seen;
    int64_t dealt = 0, lost = 0, ended = 0;
    for (bool more = true; more;) {
      const auto ranks = on_all_ranks(formers, epochs);
      more = ranks[0].complete;
      lost += ranks[0].window.lost_samples;
      dealt += ranks[0].window.samples;
      if (ranks[0].window.ends_epoch) {
        REQUIRE(ranks[0].window.epochs_after == std::floor(ranks[0].window.epochs_after));
        ended = static_cast<int64_t>(ranks[0].window.epochs_after);
      }
      for (const auto& rank : ranks) {
        for (const MicroBatchPlan& micro : rank.window.micro) {
          for (int64_t sample : micro.samples) ++seen[sample];
        }
      }
    }
    REQUIRE(dealt + lost == epochs * o.size_samples);
    REQUIRE(formers[0].lost_samples() == lost);
    if (o.tail != Tail::carry) REQUIRE(ended == epochs);
    for (const auto& [sample, times] : seen) REQUIRE(times <= epochs);
    if (lost == 0) {
      REQUIRE(static_cast<int64_t>(seen.size()) == o.size_samples);
      for (const auto& [sample, times] : seen) REQUIRE(times == epochs);
    }
    if (o.tail != Tail::drop && o.short_policy != ShortPolicy::drop) REQUIRE(lost == 0);
  }
}

TEST_CASE("members of a counted window depend neither on the ranks nor on the micro-batch") {
  Random random{std::mt19937_64(31)};
  for (int trial = 0; trial < 400; ++trial) {
    WindowFormerOptions o = random_options(random);
    if (o.window.unit == Unit::micro_batches) continue;
    CAPTURE(trial);
    const std::vector<int64_t> members = all_members(o, 5);
    for (int64_t ranks : {1, 2, 3, 7}) {
      for (int64_t micro_batch : {1, 2, 5, 64}) {
        o.ranks = ranks;
        o.micro_batch_samples = micro_batch;
        REQUIRE(all_members(o, 5) == members);
      }
    }
  }
}

TEST_CASE("micro-batches of R ranks and b rows hold what one rank's of R·b rows hold") {
  Random random{std::mt19937_64(32)};
  for (int trial = 0; trial < 400; ++trial) {
    WindowFormerOptions o = random_options(random);
    if (o.window.unit != Unit::micro_batches) continue;
    CAPTURE(trial);
    const std::vector<int64_t> members = all_members(o, 5);
    o.micro_batch_samples *= o.ranks;
    o.ranks = 1;
    REQUIRE(all_members(o, 5) == members);
  }
}

TEST_CASE("a restored cursor continues identically, also inside a window cut by the run's end") {
  Random random{std::mt19937_64(99)};
  for (int trial = 0; trial < 1500; ++trial) {
    WindowFormerOptions o = random_options(random);
    o.rank = random.between(0, o.ranks - 1);
    CAPTURE(trial);
    WindowFormer former(o);
    const int64_t before = random.between(0, 6);
    for (int64_t w = 0; w < before; ++w)
      random.between(0, 3) == 0 ? (void)former.next_until(w + 1) : (void)former.next();
    WindowFormer restored(o);
    restored.restore(former.cursor());
    REQUIRE(restored.lost_samples() == former.lost_samples());
    for (int64_t w = 0; w < 6; ++w) {
      const WindowPlan a = former.next();
      const WindowPlan b = restored.next();
      REQUIRE(a.micro.size() == b.micro.size());
      for (size_t k = 0; k < a.micro.size(); ++k) REQUIRE(a.micro[k].samples == b.micro[k].samples);
      REQUIRE(a.tokens == b.tokens);
      REQUIRE(a.tail == b.tail);
      REQUIRE(a.continues == b.continues);
      REQUIRE(a.epochs_after == b.epochs_after);
      REQUIRE(former.cursor() == restored.cursor());
    }
  }
}

TEST_CASE("a stream cut at every epoch's end gives the same windows in parts") {
  Random random{std::mt19937_64(123)};
  for (int trial = 0; trial < 600; ++trial) {
    WindowFormerOptions o = random_options(random);
    o.tail = Tail::carry;
    CAPTURE(trial);
    WindowFormer whole(o);
    WindowFormer cut(o);
    int64_t epochs = 1;
    for (int64_t w = 0; w < 6; ++w) {
      const WindowPlan expected = whole.next();
      int64_t samples = 0, tokens = 0, micro_batches = 0;
      for (bool complete = false; !complete;) {
        const auto part = cut.next_until(epochs);
        REQUIRE((part.window.continues || samples == 0));
        samples += part.window.samples;
        tokens += part.window.tokens;
        micro_batches += part.window.micro_batches;
        complete = part.complete;
        epochs += !complete;
      }
      REQUIRE(samples == expected.samples);
      REQUIRE(tokens == expected.tokens);
      if (o.window.unit == Unit::micro_batches) REQUIRE(micro_batches == expected.micro_batches);
    }
  }
}
