#include "runtime/engine/report.h"

#include <torch/version.h>

#include "runtime/plan/names.h"
#include "runtime/telemetry/memory.h"

namespace loop::engine {

namespace {

/// Counted units as metrics call them: N where the objective counts tokens, else the targets the source
/// counts.
double effective_tokens(const Objective& objective, const WindowState& state, const Counts& counts) {
  for (const plan::LossTerm& term : objective.terms()) {
    const auto count_class = static_cast<size_t>(term.count_class);
    if (objective.classes()[count_class].unit == plan::CountUnit::tokens) return counts[count_class];
  }
  return static_cast<double>(state.totals.tokens);
}

void add_losses(const Objective& objective, const WindowState& state, telemetry::UpdateRecord& record) {
  const auto& terms = objective.terms();
  const std::vector<double>& sums = state.term_sums;
  double total = 0;
  bool counted = false;
  for (size_t t = 0; t < terms.size(); ++t) {
    const double count = objective.divisor(static_cast<size_t>(terms[t].count_class), state.counts);
    if (count == 0) continue;
    counted = true;
    total += terms[t].weight * sums[t] / count;
    if (terms.size() > 1) record.losses.emplace_back(terms[t].name, sums[t] / count);
  }
  if (counted) record.loss = total;
}

}  // namespace

telemetry::UpdateRecord make_record(const Parts& parts, const Clocks& clocks, const data::WindowPlan& window,
                                    const WindowResult& result) {
  const WindowState& state = result.state;
  telemetry::UpdateRecord record;
  record.micro_step = clocks.micro_batches;
  record.optimizer_step = clocks.updates;
  record.attempted = clocks.attempts;
  record.epoch = clocks.epochs;
  record.micro_batches = state.micro_batches;
  record.samples = window.samples;
  record.local_effective_tokens = effective_tokens(*parts.objective, state, state.rank_counts);
  record.global_effective_tokens = effective_tokens(*parts.objective, state, state.counts);
  record.physical_tokens = state.positions;
  if (!result.empty) add_losses(*parts.objective, state, record);
  record.grad_norm = state.norm;
  record.clipped = state.clipped;
  if (state.scaler) {
    record.loss_scale = state.opening_scale;
    record.loss_scale_divisor = state.loss_scale_divisor;
  }
  record.applied = result.applied;
  record.skipped = result.skipped;
  record.learning_rates = state.learning_rates;
  record.tail = window.tail;
  record.lost_samples = window.lost_samples;
  record.collectives = state.collectives;
  record.collective_bytes = state.collective_bytes;
  record.peak_memory_bytes = telemetry::peak_memory_bytes();
  record.seconds = clocks.seconds;
  return record;
}

telemetry::RunStart make_start(const Parts& parts, std::optional<int64_t> planned_updates) {
  const plan::Plan& plan = parts.plan;
  telemetry::RunStart start;
  start.loop_name = plan.loop_name;
  start.model = plan.model.name;
  start.dtype = plan::name(plan.dtype);
  start.amp = plan::spelling(plan.amp.mode);
  start.device = "cpu";
  start.torch_version = TORCH_VERSION;
  start.threads = at::get_num_threads();
  start.seed = plan.seed;
  start.train_samples = parts.train().size();
  start.trainable_parameters = parts.parameters->trainable_elements();
  start.parameters = start.trainable_parameters + parts.parameters->frozen_elements();
  start.ranks = parts.ranks->size();
  start.micro_batch_samples = plan.data.micro_batch_samples;
  start.window = to_text(plan.window.size);
  start.planned_updates = planned_updates;
  return start;
}

}  // namespace loop::engine
