// The families of rules beside order and normalisation. One file each; a new rule is a catalog line, a
// function in its family's file and a page in docs/errors.
#pragma once

#include "compiler/diagnostics/engine.h"
#include "compiler/sema/spec.h"

namespace loop::check {

void check_synchronisation(const sema::Spec& spec, diagnostics::Engine& engine);
void check_objective(const sema::Spec& spec, diagnostics::Engine& engine);
void check_groups(const sema::Spec& spec, diagnostics::Engine& engine);
void check_tail(const sema::Spec& spec, diagnostics::Engine& engine);
void check_precision(const sema::Spec& spec, diagnostics::Engine& engine);
void check_clocks(const sema::Spec& spec, diagnostics::Engine& engine);
void check_checkpoint(const sema::Spec& spec, diagnostics::Engine& engine);
void check_composition(const sema::Spec& spec, diagnostics::Engine& engine);
void check_data(const sema::Spec& spec, diagnostics::Engine& engine);

/// The source that is trained on; null when there is none.
const sema::SourceUse* train_source(const sema::Spec& spec);
/// "4", "up to 8" for a ramp, "several" where the number is not configured; only for windows of more than one
/// micro-batch.
std::string micro_batches_text(const sema::Spec& spec);
/// Whether a window can have more than one micro-batch.
bool several_micro_batches(const sema::Spec& spec);

}  // namespace loop::check
