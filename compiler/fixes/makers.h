// The makers of fixes, by family. Each gets a finding with its place and returns what could be done; whether
// it holds is tried by the caller.
#pragma once

#include "compiler/fixes/subject.h"

namespace loop::fixes {

// order.cpp
Fixes move_to_update(
    const Subject& subject);            // out of `micro`, or out of a guard; deleted when it is there already
Fixes reorder(const Subject& subject);  // it, or the operation it should have waited for
Fixes delete_here(const Subject& subject);        // a repetition, or what does nothing
Fixes delete_one_of_two(const Subject& subject);  // two that disagree: a choice
Fixes zero_at_end(const Subject& subject);
Fixes add_unscale(const Subject& subject);
Fixes scale_or_no_unscale(const Subject& subject);
Fixes after_what_it_needs(const Subject& subject);  // forward, loss, scale_loss, backward
Fixes scale_before_backward(const Subject& subject);
Fixes backward_always(const Subject& subject);
Fixes delete_repetition(const Subject& subject);  // only where it is written like the other one
Fixes after_last_step(const Subject& subject);

// synchronisation.cpp
Fixes reduce_once(const Subject& subject);
Fixes synchronise_last(const Subject& subject);
Fixes widen_scope(const Subject& subject);
Fixes unguard(const Subject& subject);
Fixes one_scope(const Subject& subject);
Fixes delete_scope(const Subject& subject);
Fixes reduce_or_manual(const Subject& subject);
Fixes delete_sync_key(const Subject& subject);

// normalisation.cpp
Fixes divide_by_count(const Subject& subject);

// precision.cpp
Fixes scale_fp16(const Subject& subject);
Fixes into_autocast(const Subject& subject);
Fixes out_of_autocast(const Subject& subject);
Fixes autocast_or_amp(const Subject& subject);
Fixes delete_scaler(const Subject& subject);
Fixes add_update_scale(const Subject& subject);

// keys.cpp
Fixes delete_twin_key(const Subject& subject);
Fixes move_key(const Subject& subject);
Fixes delete_twin_argument(const Subject& subject);
Fixes delete_name(const Subject& subject);
Fixes choose_tail(const Subject& subject);
Fixes choose_unit(const Subject& subject);
Fixes choose_batch_norm(const Subject& subject);
Fixes choose_stop(const Subject& subject);

}  // namespace loop::fixes
