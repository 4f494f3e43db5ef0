// The keys and blocks of a loop that are plain settings: each function reads one and fills in defaults.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/sema/block_reader.h"
#include "compiler/sema/spec.h"
#include "compiler/sema/values.h"

namespace loop::sema {

/// seed, device, ranks, dtype, accumulate, init, batch_norm, resume, check_replicas.
void read_simple_keys(Context& context, const BlockReader& loop, Spec& spec);
/// `amp = off | bf16 | fp16(…)`
void read_amp(Context& context, const ast::Head* amp, Span place, Spec& spec);
void read_nonfinite(Context& context, const ast::Head* block, Span place, Spec& spec);
void read_log(Context& context, const ast::Head* head, Span place, Spec& spec);

/// False when the micro-batch or the training source cannot be understood.
bool read_data(Context& context, const ast::Head& block, const ModelFacts& model, Spec& spec);
/// False when the size cannot be understood. `finite`: the training source ends, so that a tail policy is
/// needed.
bool read_window(Context& context, const ast::Head& block, bool finite, Spec& spec);

void read_averages(Context& context, const BlockReader& loop, Spec& spec);
/// `metrics`: what the loss terms allow beside `loss`.
void read_evaluations(Context& context, const BlockReader& loop, const std::vector<std::string>& metrics,
                      Spec& spec);
void read_checkpoint(Context& context, const ast::Head* head, Span place, Spec& spec);
/// False when the condition cannot be understood.
bool read_stop(Context& context, const ast::Expr& expr, Spec& spec);

/// "held_out.loss" of an evaluation of this loop; reports what is wrong.
bool check_metric(Context& context, const std::string& metric, Span span, const Spec& spec);

}  // namespace loop::sema
