#include "runtime/verify/rank_program.h"

#include <cmath>

namespace loop::verify {

namespace {

using plan::Power;

plan::Lookup lookup(int64_t ranks, const engine::Counts& rank_counts,
                    const std::vector<plan::CountClass>& classes) {
  return [ranks, &rank_counts, &classes](std::string_view name) -> std::optional<double> {
    if (name == "ranks") return static_cast<double>(ranks);
    for (size_t i = 0; i < classes.size(); ++i) {
      if (name == std::string(plan::name(classes[i].unit)) + ".rank") return rank_counts[i];
    }
    return std::nullopt;
  };
}

void specialise(plan::Factor& factor, int64_t ranks, const engine::Counts& rank_counts) {
  std::vector<Power> rest;
  for (const Power& power : factor.powers) {
    if (power.symbol == Power::Symbol::ranks) {
      factor.number *= std::pow(static_cast<double>(ranks), power.exponent);
    } else if (power.symbol == Power::Symbol::count_rank && power.count_class >= 0) {
      factor.number *= std::pow(rank_counts[static_cast<size_t>(power.count_class)], power.exponent);
    } else {
      rest.push_back(power);
    }
  }
  factor.powers = std::move(rest);
}

}  // namespace

std::vector<plan::Operation> for_rank(std::vector<plan::Operation> operations, int64_t ranks,
                                      const engine::Counts& rank_counts,
                                      const std::vector<plan::CountClass>& classes) {
  const plan::Lookup names = lookup(ranks, rank_counts, classes);
  for (plan::Operation& operation : operations) {
    specialise(operation.factor, ranks, rank_counts);
    operation.limit = plan::simplify(operation.limit, names);
    operation.condition = plan::simplify(operation.condition, names);
    operation.body = for_rank(std::move(operation.body), ranks, rank_counts, classes);
  }
  return operations;
}

std::vector<plan::CountClass> for_ranks(std::vector<plan::CountClass> classes, int64_t ranks) {
  const engine::Counts none;
  for (plan::CountClass& one : classes) {
    if (!one.at_least) continue;
    one.at_least = plan::simplify(*one.at_least, lookup(ranks, none, {}));
  }
  return classes;
}

}  // namespace loop::verify
