// Windows at the ends of epochs, with the numbers of public reports (B10, B49, B52 to B58) and the right
// values.
#include "runtime/data/window_former.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "loop/error.h"
#include "tests/support/error_of.h"

using namespace loop::data;
using loop::Error;
using loop::plan::Order;
using loop::plan::ShortPolicy;
using loop::plan::Tail;
using loop::testing::error_of;
using Unit = loop::plan::WindowSize::Unit;

namespace {

WindowFormerOptions options(int64_t samples, int64_t micro_batch, Unit unit, int64_t size, Tail tail) {
  WindowFormerOptions o;
  o.size_samples = samples;
  o.seed = 1;
  o.micro_batch_samples = micro_batch;
  o.window.unit = unit;
  o.window.value = size;
  o.tail = tail;
  o.tokens = [](int64_t) { return 1; };
  o.positions = [](int64_t) { return 1; };
  return o;
}

std::vector<int64_t> micro_batches_of(const WindowFormerOptions& o, int64_t epochs) {
  WindowFormer former(o);
  std::vector<int64_t> counts;
  for (auto bounded = former.next_until(epochs); bounded.complete; bounded = former.next_until(epochs)) {
    counts.push_back(bounded.window.micro_batches);
  }
  return counts;
}

}  // namespace

TEST_CASE("B10: a carried window counts exactly the micro-batches it holds") {
  // 6 micro-batches an epoch, 5 tokens each but 1 in the last two; K = 4: the window across the border has 1
  // + 1 + 5 + 5.
  WindowFormerOptions o = options(6, 1, Unit::micro_batches, 4, Tail::carry);
  o.order = Order::sequential;
  o.tokens = [](int64_t sample) { return sample < 4 ? 5 : 1; };
  WindowFormer former(o);
  CHECK(former.next().tokens == 20);
  const WindowPlan across = former.next();
  CHECK(across.tokens == 12);
  CHECK(across.micro_batches == 4);
  CHECK(across.epoch == 0);
  CHECK_FALSE(across.tail);
  CHECK_FALSE(across.ends_epoch);
  CHECK(across.epochs_after == doctest::Approx(1 + 2.0 / 6));
  const WindowPlan third = former.next();
  CHECK(third.tokens == 5 + 5 + 1 + 1);
  CHECK(third.ends_epoch);
  CHECK(third.epochs_after == 2);
}

TEST_CASE("B49: 24 samples over 5 ranks are each seen once") {
  std::map<int64_t, int> seen;
  int64_t counted = 0;
  for (int64_t rank = 0; rank < 5; ++rank) {
    WindowFormerOptions o = options(24, 5, Unit::micro_batches, 1, Tail::flush);
    o.ranks = 5;
    o.rank = rank;
    const WindowPlan window = WindowFormer(o).next();
    CHECK(window.samples == 24);
    CHECK(window.tokens == 24);
    CHECK(window.micro_batches == 1);
    CHECK(window.micro[0].samples.size() == (rank < 4 ? 5 : 4));
    CHECK(window.micro[0].padding_rows == 0);
    counted += static_cast<int64_t>(window.micro[0].samples.size());
    for (int64_t sample : window.micro[0].samples) ++seen[sample];
  }
  CHECK(counted == 24);
  CHECK(seen.size() == 24);
  for (const auto& [sample, times] : seen) CHECK(times == 1);
}

TEST_CASE("B49: padding fills shapes with rows that do not count") {
  int64_t padding = 0;
  for (int64_t rank = 0; rank < 5; ++rank) {
    WindowFormerOptions o = options(24, 5, Unit::micro_batches, 1, Tail::flush);
    o.short_policy = ShortPolicy::pad;
    o.ranks = 5;
    o.rank = rank;
    const WindowPlan window = WindowFormer(o).next();
    CHECK(window.samples == 24);
    CHECK(window.tokens == 24);
    CHECK(window.positions == 24);
    CHECK(window.micro[0].samples.size() + window.micro[0].padding_rows == 5);
    padding += window.micro[0].padding_rows;
  }
  CHECK(padding == 1);
}

TEST_CASE("B52: 10 micro-batches, K = 4: the tail holds 2 and counts 2") {
  WindowFormer former(options(10, 1, Unit::micro_batches, 4, Tail::flush));
  CHECK_FALSE(former.next().tail);
  CHECK_FALSE(former.next().tail);
  const WindowPlan tail = former.next();
  CHECK(tail.tail);
  CHECK(tail.ends_epoch);
  CHECK(tail.micro_batches == 2);
  CHECK(tail.tokens == 2);
  CHECK(tail.epochs_after == 1);
  CHECK_FALSE(former.next().tail);
}

TEST_CASE("B53: 11 micro-batches, K = 4: drop says what it leaves out, the other policies lose nothing") {
  WindowFormer dropping(options(11, 1, Unit::micro_batches, 4, Tail::drop));
  CHECK(dropping.next().lost_samples == 0);
  const WindowPlan last = dropping.next();
  CHECK(last.lost_samples == 3);
  CHECK(last.ends_epoch);
  CHECK_FALSE(last.tail);
  CHECK(last.epochs_after == 1);
  CHECK(dropping.lost_samples() == 3);
  CHECK(dropping.cursor() == Cursor{1, 0, 3});

  CHECK(micro_batches_of(options(11, 1, Unit::micro_batches, 4, Tail::flush), 1) ==
        std::vector<int64_t>{4, 4, 3});
  CHECK(micro_batches_of(options(11, 1, Unit::micro_batches, 4, Tail::drop), 2) ==
        std::vector<int64_t>{4, 4, 4, 4});
  CHECK(count_windows(options(11, 1, Unit::micro_batches, 4, Tail::carry), 4) == 11);
}

TEST_CASE("B53: an epoch that never fills a window is refused under drop") {
  const std::string message =
      error_of([] { WindowFormer(options(3, 1, Unit::micro_batches, 4, Tail::drop)); });
  CHECK(message ==
        "tail = drop leaves no window at all: a window takes 4 micro_batches, but an epoch has only 3 "
        "samples (3 "
        "micro-batches of 1) | make the window smaller, or use tail = carry or tail = flush");
  WindowFormerOptions tokens = options(3, 1, Unit::tokens, 100, Tail::drop);
  CHECK(error_of([&] { WindowFormer{tokens}; }).find("a window takes 100 tokens") != std::string::npos);
  WindowFormerOptions ramp = options(6, 1, Unit::micro_batches, 8, Tail::drop);
  ramp.window.ramp = loop::plan::WindowSize::Ramp{1, loop::plan::Clock::updates, 1000};
  CHECK(error_of([&] { WindowFormer{ramp}; }).find("takes 8 micro_batches") != std::string::npos);
}

TEST_CASE("B54: 148 samples, batch 2, K = 16: nothing merges with the next epoch's first window") {
  CHECK(micro_batches_of(options(148, 2, Unit::micro_batches, 16, Tail::flush), 2) ==
        std::vector<int64_t>{16, 16, 16, 16, 10, 16, 16, 16, 16, 10});
  // Two epochs have 148 micro-batches: 9 windows of 16 and 4 left.
  CHECK(micro_batches_of(options(148, 2, Unit::micro_batches, 16, Tail::carry), 2) ==
        std::vector<int64_t>(9, 16));
  CHECK(micro_batches_of(options(148, 2, Unit::micro_batches, 16, Tail::drop), 2) ==
        std::vector<int64_t>(8, 16));
}

TEST_CASE("B56: planned windows are the windows there are") {
  // 91 samples, batch 10, 2 ranks: 5 micro-batches, the last of 11 samples; K = 2: 3 windows an epoch, 30 in
  // 10 epochs.
  WindowFormerOptions o = options(91, 10, Unit::micro_batches, 2, Tail::flush);
  o.ranks = 2;
  CHECK(count_windows(o, 10) == 30);
  CHECK(micro_batches_of(o, 1) == std::vector<int64_t>{2, 2, 1});
  for (int64_t rank = 0; rank < 2; ++rank) {
    o.rank = rank;
    WindowFormer former(o);
    former.next();
    former.next();
    CHECK(former.next().micro[0].samples.size() == (rank == 0 ? 6 : 5));
  }
  // 9 samples, batch 2, K = 2, 3 epochs: 15 micro-batches.
  CHECK(count_windows(options(9, 2, Unit::micro_batches, 2, Tail::flush), 3) == 9);
  CHECK(count_windows(options(9, 2, Unit::micro_batches, 2, Tail::carry), 3) == 7);
  CHECK(count_windows(options(9, 2, Unit::micro_batches, 2, Tail::drop), 3) == 6);
  // 260 samples, batch 16: 17 micro-batches, K = 2.
  CHECK(count_windows(options(260, 16, Unit::micro_batches, 2, Tail::flush), 1) == 9);
}

TEST_CASE("B57: 7 micro-batches, K = 4: 2 updates an epoch, the second over 3") {
  CHECK(micro_batches_of(options(7, 1, Unit::micro_batches, 4, Tail::flush), 2) ==
        std::vector<int64_t>{4, 3, 4, 3});
}

TEST_CASE("B58: K larger than the epoch") {
  CHECK(micro_batches_of(options(3, 1, Unit::micro_batches, 8, Tail::flush), 3) ==
        std::vector<int64_t>{3, 3, 3});
  // As one stream: 9 micro-batches in 3 epochs are one window of 8, which ends in the third epoch.
  WindowFormer former(options(3, 1, Unit::micro_batches, 8, Tail::carry));
  const WindowPlan window = former.next();
  CHECK(window.micro_batches == 8);
  CHECK(window.samples == 8);
  CHECK(window.epochs_after == doctest::Approx(2 + 2.0 / 3));
  CHECK(former.cursor() == Cursor{2, 2});
}

TEST_CASE("a carried window cut by the end of the run is given back unfinished, and can be finished later") {
  WindowFormer former(options(10, 2, Unit::micro_batches, 4, Tail::carry));
  CHECK(former.next_until(1).complete);
  const auto cut = former.next_until(1);
  CHECK_FALSE(cut.complete);
  CHECK(cut.window.micro_batches == 1);
  CHECK(cut.window.samples == 2);
  CHECK(cut.window.epochs_after == 1);
  CHECK(former.cursor() == Cursor{1, 0, 0, 4, 1});
  CHECK_FALSE(former.next_until(1).complete);  // asked again: still nothing new

  WindowFormer resumed(options(10, 2, Unit::micro_batches, 4, Tail::carry));
  resumed.restore(former.cursor());
  const WindowPlan rest = resumed.next();
  CHECK(rest.continues);
  CHECK(rest.micro_batches == 3);
  CHECK_FALSE(resumed.next().continues);
}

TEST_CASE("a stream that ends with a full window leaves nothing open") {
  WindowFormer former(options(8, 2, Unit::micro_batches, 2, Tail::carry));
  CHECK(former.next_until(1).complete);
  CHECK(former.next_until(1).complete);
  const auto end = former.next_until(1);
  CHECK_FALSE(end.complete);
  CHECK(end.window.micro.empty());
  CHECK(former.cursor() == Cursor{1, 0});
}

TEST_CASE("a window in tokens takes the sample that crosses its size") {
  WindowFormerOptions o = options(6, 2, Unit::tokens, 10, Tail::flush);
  o.order = Order::sequential;
  const std::vector<int64_t> tokens = {4, 4, 7, 10, 3, 2};
  o.tokens = [&](int64_t sample) { return tokens[sample]; };
  o.ranks = 2;
  WindowFormer former(o);
  const WindowPlan first = former.next();  // 4 + 4 + 7: samples 0 and 2 on this rank
  CHECK(first.tokens == 15);
  CHECK(first.samples == 3);
  CHECK(first.micro_batches == 1);
  CHECK(first.micro[0].samples == std::vector<int64_t>{0, 2});
  const WindowPlan second = former.next();
  CHECK(second.tokens == 10);
  CHECK_FALSE(second.tail);
  const WindowPlan third = former.next();
  CHECK(third.tokens == 5);
  CHECK(third.tail);
  CHECK(third.ends_epoch);
}

TEST_CASE("ranks that have fewer samples run empty micro-batches") {
  WindowFormerOptions o = options(100, 2, Unit::samples, 9, Tail::flush);
  o.ranks = 4;
  std::vector<std::vector<int64_t>> sizes;
  for (int64_t rank = 0; rank < 4; ++rank) {
    o.rank = rank;
    const WindowPlan window = WindowFormer(o).next();
    CHECK(window.micro_batches == 2);
    sizes.emplace_back();
    for (const MicroBatchPlan& micro : window.micro)
      sizes.back().push_back(static_cast<int64_t>(micro.samples.size()));
  }
  CHECK(sizes == std::vector<std::vector<int64_t>>{{2, 1}, {2, 0}, {2, 0}, {2, 0}});
}

TEST_CASE("samples with tail = drop leave out what does not fill a window") {
  WindowFormer former(options(10, 2, Unit::samples, 4, Tail::drop));
  former.next();
  const WindowPlan last = former.next();
  CHECK(last.lost_samples == 2);
  CHECK(last.ends_epoch);
  CHECK(former.next().epoch == 1);
}

TEST_CASE("short = drop loses the last short micro-batch of every epoch") {
  WindowFormerOptions o = options(11, 2, Unit::micro_batches, 2, Tail::flush);
  o.short_policy = ShortPolicy::drop;
  o.ranks = 2;  // global micro-batches of 4: two in an epoch, three samples lost
  WindowFormer former(o);
  const WindowPlan window = former.next();
  CHECK(window.samples == 8);
  CHECK(window.lost_samples == 3);
  CHECK(window.ends_epoch);
  CHECK_FALSE(window.tail);
  CHECK(former.next().epoch == 1);
  o.micro_batch_samples = 6;
  CHECK(error_of([&] { WindowFormer{o}; }).find("one micro-batch of all ranks takes 12") !=
        std::string::npos);
}

TEST_CASE("short = drop is refused where members would come to depend on ranks") {
  for (Unit unit : {Unit::samples, Unit::tokens, Unit::positions}) {
    WindowFormerOptions o = options(10, 2, unit, 4, Tail::flush);
    o.short_policy = ShortPolicy::drop;
    CHECK(error_of([&] { WindowFormer{o}; }).find("short = drop cannot go with a window in") == 0);
  }
}

TEST_CASE("a source without samples, or without anything that counts, is refused") {
  CHECK(error_of([] { WindowFormer(options(0, 1, Unit::samples, 1, Tail::flush)); }).find("has no samples") !=
        std::string::npos);
  WindowFormerOptions o = options(5, 1, Unit::tokens, 10, Tail::carry);
  o.tokens = [](int64_t) { return 0; };
  CHECK(error_of([&] { WindowFormer{o}; }).find("no tokens that count") != std::string::npos);
  o.tail = Tail::flush;  // an empty window at each epoch's end, and the run decides what to do with it
  const WindowPlan window = WindowFormer(o).next();
  CHECK(window.tokens == 0);
  CHECK(window.samples == 5);
}

TEST_CASE("a ramp holds each size for the same time and ends at its last value") {
  loop::plan::WindowSize size;
  size.value = 8;
  size.ramp = loop::plan::WindowSize::Ramp{1, loop::plan::Clock::updates, 700};
  CHECK(window_size_at(size, 0) == 1);
  CHECK(window_size_at(size, 99) == 1);
  CHECK(window_size_at(size, 100) == 2);
  CHECK(window_size_at(size, 699) == 7);
  CHECK(window_size_at(size, 700) == 8);
  CHECK(window_size_at(size, 1e9) == 8);
  size.value = 1;
  size.ramp->from = 8;
  CHECK(window_size_at(size, 0) == 8);
  CHECK(window_size_at(size, 99) == 8);
  CHECK(window_size_at(size, 100) == 7);
  CHECK(window_size_at(size, 700) == 1);
}

TEST_CASE("the size of a ramped window is fixed when it opens, and survives the end of the run") {
  WindowFormerOptions o = options(5, 1, Unit::micro_batches, 4, Tail::carry);
  o.window.ramp = loop::plan::WindowSize::Ramp{2, loop::plan::Clock::updates, 2};
  WindowFormer former(o);
  CHECK(former.next(0).micro_batches == 2);
  CHECK(former.next(1).micro_batches == 3);
  CHECK(former.next_until(2, 2).window.micro_batches == 4);
  CHECK(former.next_until(2, 2).window.micro_batches == 1);
  CHECK(former.next(100).micro_batches == 3);  // the rest of 4
  CHECK(count_windows(o, 2) == 3);
}

TEST_CASE("under drop a rising ramp leaves an epoch when the next size does not fit") {
  WindowFormerOptions o = options(8, 1, Unit::micro_batches, 4, Tail::drop);
  o.window.ramp = loop::plan::WindowSize::Ramp{3, loop::plan::Clock::updates, 2};
  WindowFormer former(o);
  CHECK(former.next(0).lost_samples == 0);  // 5 left, enough for 3
  CHECK(former.next(2).lost_samples == 1);  // 4 of 5
  CHECK(former.cursor() == Cursor{1, 0, 1});
}

TEST_CASE("a saved place that does not fit the source is refused") {
  WindowFormer former(options(10, 1, Unit::micro_batches, 2, Tail::flush));
  CHECK(error_of([&] {
          former.restore(Cursor{0, 10});
        }) ==
        "the saved place (epoch 0, sample 10) lies outside the training source of 10 samples | continue with "
        "the data "
        "the run was started with");
  CHECK(error_of([&] { former.restore(Cursor{-1, 0}); }) != "");
  CHECK(error_of([&] { former.restore(Cursor{3, 9}); }) == "");
}
