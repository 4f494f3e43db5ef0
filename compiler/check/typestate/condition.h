// Guards: `when finite and not first { … }`.
#pragma once

#include "compiler/check/typestate/choices.h"
#include "runtime/plan/expression.h"

namespace loop::check {

/// Whether the condition reads something that can differ between ranks: a rank's own or a micro-batch's own
/// count.
bool can_differ_between_ranks(const plan::Expression& condition);

/// The condition's value. What `lookup` leaves unknown is asked of `choices`, comparison by comparison, so
/// that a condition and its negation never hold at once. `moment` tells apart questions that may have
/// different answers at different times of one window.
bool holds(const plan::Expression& condition, const plan::Lookup& lookup, Choices& choices,
           const std::string& moment = {});

}  // namespace loop::check
