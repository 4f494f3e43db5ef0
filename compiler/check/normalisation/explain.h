// A wrong factor in the user's words: as found, as needed, and which operation brought each power.
#pragma once

#include "compiler/check/finding.h"
#include "compiler/check/normalisation/compare.h"
#include "compiler/check/typestate/judge.h"

namespace loop::check {

/// The fault behind a wrong factor at `step`. `later_multiply`: a normalize or scale_grad that comes after
/// it, or null.
Finding explain_factor(const JudgeContext& context, const FactorMismatch& mismatch,
                       const sema::Operation& step, const sema::Operation* later_multiply);

/// Adds "c found", "c needed" and the places of the factors.
void show_factor(const JudgeContext& context, const FactorMismatch& mismatch, Finding& finding);

}  // namespace loop::check
