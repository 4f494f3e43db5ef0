#include "runtime/data/permutation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <vector>

using loop::data::Permutation;
using loop::plan::Order;

namespace {

std::vector<int64_t> order_of(int64_t size, uint64_t seed, int64_t epoch, Order order = Order::shuffled) {
  const Permutation permutation(size, seed, epoch, order);
  std::vector<int64_t> result(size);
  for (int64_t i = 0; i < size; ++i) result[i] = permutation(i);
  return result;
}

bool visits_each_once(std::vector<int64_t> order) {
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("every size gives a permutation") {
  for (int64_t size = 1; size <= 600; ++size) REQUIRE(visits_each_once(order_of(size, 7, size % 5)));
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 40; ++trial) {
    const int64_t size = 1 + static_cast<int64_t>(random() % 70'000);
    CAPTURE(size);
    CHECK(visits_each_once(order_of(size, random(), static_cast<int64_t>(random() % 100))));
  }
  for (int64_t size : {65'535, 65'536, 65'537}) CHECK(visits_each_once(order_of(size, 3, 0)));
}

TEST_CASE("sequential order is the order of the source in every epoch") {
  const std::vector<int64_t> order = order_of(9, 5, 3, Order::sequential);
  for (int64_t i = 0; i < 9; ++i) CHECK(order[i] == i);
}

// B97: a sampler whose order depends on too little repeats itself.
TEST_CASE("seed and epoch each change the order, the same pair repeats it") {
  std::set<std::vector<int64_t>> orders;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (int64_t epoch = 0; epoch < 20; ++epoch) orders.insert(order_of(50, seed, epoch));
  }
  CHECK(orders.size() == 400);
  CHECK(order_of(50, 3, 4) == order_of(50, 3, 4));
}

// The order is part of what a checkpoint relies on: it must not change between versions or machines.
TEST_CASE("the order is fixed for all time") {
  CHECK(order_of(10, 1337, 0) == std::vector<int64_t>{1, 4, 0, 5, 2, 7, 9, 6, 8, 3});
  CHECK(order_of(10, 1337, 1) == std::vector<int64_t>{5, 0, 7, 1, 3, 9, 4, 8, 6, 2});
}

TEST_CASE("every sample is equally likely at every place, and pairs are independent") {
  for (int64_t size : {2, 3, 5, 16, 30}) {
    constexpr int kEpochs = 6000;
    std::vector<std::vector<int>> seen(size, std::vector<int>(size, 0));
    std::vector<int> follows(size * size, 0);
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      const std::vector<int64_t> order = order_of(size, 11, epoch);
      for (int64_t i = 0; i < size; ++i) ++seen[i][order[i]];
      ++follows[order[0] * size + order[1]];
    }
    double chi2 = 0;
    const double expected = static_cast<double>(kEpochs) / static_cast<double>(size);
    for (const auto& place : seen) {
      for (int count : place) chi2 += (count - expected) * (count - expected) / expected;
    }
    const double freedom = static_cast<double>((size - 1) * (size - 1));
    CAPTURE(size);
    CHECK(chi2 < freedom + 5 * std::sqrt(2 * freedom) + 5);

    double pair_chi2 = 0;
    const double pair_expected = static_cast<double>(kEpochs) / static_cast<double>(size * (size - 1));
    for (int64_t a = 0; a < size; ++a) {
      for (int64_t b = 0; b < size; ++b) {
        const double count = follows[a * size + b];
        if (a == b) CHECK(count == 0);
        if (a != b) pair_chi2 += (count - pair_expected) * (count - pair_expected) / pair_expected;
      }
    }
    const double pair_freedom = static_cast<double>(size * (size - 1) - 1);
    CHECK(pair_chi2 < pair_freedom + 5 * std::sqrt(2 * pair_freedom) + 5);
  }
}
