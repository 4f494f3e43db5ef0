// Batches from a second thread: the same as without it, in the same order, whatever happens (B101).
#include "runtime/data/prefetch.h"

#include <atomic>
#include <chrono>
#include <random>

#include "loop/error.h"

#include <doctest/doctest.h>  // after LibTorch, whose headers take its CHECK away

using namespace loop;
using namespace loop::data;
using Ids = std::vector<int64_t>;

namespace {

// Sample i is the number i; `broken` throws, alone and in any batch.
class Numbers : public Source {
 public:
  explicit Numbers(int64_t broken = -1, int64_t delay_us = 0) : broken_(broken), delay_us_(delay_us) {}
  int64_t size() const override { return 1000; }
  int64_t positions(int64_t) const override { return 1; }
  int64_t counted(int64_t, std::optional<int64_t>) const override { return 1; }
  const DataInfo& info() const override { return info_; }
  Batch collate(std::span<const int64_t> samples, int64_t padding_rows) const override {
    ++collated;
    if (delay_us_ > 0) std::this_thread::sleep_for(std::chrono::microseconds(delay_us_));
    for (int64_t sample : samples) {
      if (sample == broken_) throw Error(ErrorKind::usage, "unreadable", "repair it");
    }
    Batch batch;
    batch.sample_ids.assign(samples.begin(), samples.end());
    batch.samples = static_cast<int64_t>(samples.size());
    batch.positions = batch.samples + padding_rows;
    return batch;
  }
  mutable std::atomic<int64_t> collated = 0;

 private:
  int64_t broken_;
  int64_t delay_us_;
  DataInfo info_;
};

}  // namespace

TEST_CASE("batches come in the order they were asked for") {
  const Numbers source;
  std::mt19937 random(5);
  for (int64_t depth : {1, 2, 7}) {
    Prefetcher prefetcher(source, depth);
    int64_t asked = 0, taken = 0;
    while (taken < 400) {
      const bool ask = asked < 400 && (asked == taken || random() % 2 == 0);
      if (ask) {
        prefetcher.request({{asked, asked + 1}, 1});
        ++asked;
      } else {
        const Batch batch = prefetcher.next();
        REQUIRE(batch.sample_ids == Ids{taken, taken + 1});
        REQUIRE(batch.positions == 3);
        ++taken;
      }
      REQUIRE(prefetcher.pending() == asked - taken);
    }
  }
}

TEST_CASE("a window's micro-batches, empty ones included") {
  const Numbers source;
  Prefetcher prefetcher(source);
  WindowPlan window;
  window.micro = {{{4, 2}, 0}, {{}, 0}, {{9}, 1}};
  prefetcher.request_all(window);
  CHECK(prefetcher.next().sample_ids == Ids{4, 2});
  CHECK(prefetcher.next().samples == 0);
  CHECK(prefetcher.next().positions == 2);
  CHECK_THROWS_AS(prefetcher.next(), Error);
}

TEST_CASE("no more than `depth` batches wait to be taken") {
  const Numbers source;
  Prefetcher prefetcher(source, 3);
  for (int64_t i = 0; i < 50; ++i) prefetcher.request({{i}, 0});
  while (source.collated < 3) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(source.collated == 3);
  CHECK(prefetcher.next().sample_ids == Ids{0});
  while (source.collated < 4) std::this_thread::yield();
}

TEST_CASE("B101: an exception names the sample, and the batches after it still come") {
  const Numbers source(7);
  Prefetcher prefetcher(source, 4);
  for (int64_t i = 0; i < 20; i += 2) prefetcher.request({{i, i + 1}, 0});
  int64_t failures = 0;
  for (int64_t i = 0; i < 20; i += 2) {
    try {
      CHECK(prefetcher.next().sample_ids == Ids{i, i + 1});
    } catch (const Error& error) {
      ++failures;
      CHECK(i == 6);
      CHECK(std::string(error.what()) == "sample 7: unreadable");
      CHECK(error.repair() == "repair it");
      CHECK(error.kind() == ErrorKind::usage);
    }
  }
  CHECK(failures == 1);
  // As many exceptions as it is deep, and more: it goes on.
  for (int64_t i = 0; i < 10; ++i) prefetcher.request({{7}, 0});
  for (int64_t i = 0; i < 10; ++i) CHECK_THROWS_AS(prefetcher.next(), Error);
  prefetcher.request({{8}, 0});
  CHECK(prefetcher.next().sample_ids == Ids{8});
}

TEST_CASE("B101: leaving at any moment, and starting again after a break") {
  std::mt19937 random(9);
  for (int trial = 0; trial < 60; ++trial) {
    const Numbers source(trial % 3 == 0 ? 5 : -1, static_cast<int64_t>(random() % 300));
    Prefetcher prefetcher(source, 1 + static_cast<int64_t>(random() % 3));
    for (int64_t i = 0; i < 10; ++i) prefetcher.request({{i}, 0});
    const int64_t taken = static_cast<int64_t>(random() % 5);
    for (int64_t i = 0; i < taken; ++i) REQUIRE(prefetcher.next().sample_ids == Ids{i});
    if (trial % 2 == 0) continue;  // destroyed in the middle
    prefetcher.clear();
    REQUIRE(prefetcher.pending() == 0);
    prefetcher.request({{100}, 0});
    prefetcher.request({{101}, 0});
    REQUIRE(prefetcher.next().sample_ids == Ids{100});
    REQUIRE(prefetcher.next().sample_ids == Ids{101});
  }
}
