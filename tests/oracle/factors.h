// The factors E and the conditions that programs of the oracle are made of.
#pragma once

#include <vector>

#include "tests/oracle/mutations.h"

namespace loop::oracle {

/// Variants of scale_loss and scale_grad. S is the loss scale, K the configured number of micro-batches;
/// "counted" is this window's. "Micro", "rank" and "global" are the counts of the first class.
enum FactorVariant {
  kLossScale,
  kOneOverLossScale,
  kOneOverK,
  kOneOverCounted,
  kRanks,
  kOneOverRanks,
  kOneOverGlobal,
  kRanksOverGlobal,
  kOneOverRank,
  kOneOverMicro,
  kMicroOverGlobal,
  kScaleOverK,
  kScaleOverCounted,
  kScaleOverGlobal,
  kScaleRanksOverGlobal,
  kScaleOverMicro,
  kThird,
  kTwo,
  kRanksMicroOverGlobal,
  kOneOverScaleGlobal,
  kRanksOverScaleGlobal,
  kK,
  kCounted,
  kOneOverCountedRanks,
  kOneOverOther,  // the second class's global count
  kScaleMicroOverGlobal,
  kRankOverGlobal,
  kHalf,
  kFactors
};
plan::Factor factor(const Setting& setting, int variant);
/// Those that may be written in scale_loss, in scale_grad.
const std::vector<int>& loss_factors(const Setting& setting);
const std::vector<int>& gradient_factors(const Setting& setting);
bool is_writable(const Setting& setting, const Token& token);

enum ConditionVariant { kFirst, kLast, kFinite, kNotFinite, kNotLast, kConditions };
plan::Expression condition(int variant);

}  // namespace loop::oracle
