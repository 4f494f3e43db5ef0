// The spellings of the plan's enumerations, in one table each; JSON and printed plans read them.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"

namespace loop::plan {

template <class Enum>
using Spellings = std::vector<std::pair<Enum, const char*>>;

const Spellings<Device>& spellings(Device);
const Spellings<Dtype>& spellings(Dtype);
const Spellings<Order>& spellings(Order);
const Spellings<ShortPolicy>& spellings(ShortPolicy);
const Spellings<UnevenPolicy>& spellings(UnevenPolicy);
const Spellings<Sync>& spellings(Sync);
const Spellings<Tail>& spellings(Tail);
const Spellings<EmptyPolicy>& spellings(EmptyPolicy);
const Spellings<OomPolicy>& spellings(OomPolicy);
const Spellings<NonfiniteAction>& spellings(NonfiniteAction);
const Spellings<BatchNorm>& spellings(BatchNorm);
const Spellings<AmpMode>& spellings(AmpMode);
const Spellings<Compression>& spellings(Compression);
const Spellings<UpdateRule::Statement::Kind>& spellings(UpdateRule::Statement::Kind);
const Spellings<CountUnit>& spellings(CountUnit);
const Spellings<Clock>& spellings(Clock);
const Spellings<WindowSize::Unit>& spellings(WindowSize::Unit);
const Spellings<OpKind>& spellings(OpKind);
const Spellings<LossMode>& spellings(LossMode);
const Spellings<ReduceMode>& spellings(ReduceMode);
const Spellings<SyncOn>& spellings(SyncOn);
const Spellings<Power::Symbol>& spellings(Power::Symbol);
const Spellings<Predicate::Kind>& spellings(Predicate::Kind);
const Spellings<StopCondition::Kind>& spellings(StopCondition::Kind);
const Spellings<Expression::Kind>& spellings(Expression::Kind);

template <class Enum>
const char* spelling(Enum value) {
  for (const auto& [known, text] : spellings(value)) {
    if (known == value) return text;
  }
  throw std::logic_error("an enumerator has no spelling");
}

/// Throws std::invalid_argument for a text that is none of the spellings.
template <class Enum>
Enum from_spelling(std::string_view text) {
  for (const auto& [known, spelled] : spellings(Enum{})) {
    if (text == spelled) return known;
  }
  throw std::invalid_argument("unknown value '" + std::string(text) + "'");
}

}  // namespace loop::plan
