#include "runtime/engine/window_runner.h"

#include "loop/error.h"
#include "runtime/amp/autocast.h"
#include "runtime/engine/open_window.h"
#include "runtime/engine/random.h"
#include "runtime/engine/variables.h"
#include "runtime/plan/counts_ahead.h"
#include "runtime/plan/names.h"

namespace loop::engine {

namespace {

void collect_targets(const std::vector<plan::Operation>& operations, plan::OpKind kind,
                     std::set<std::string>& targets) {
  for (const plan::Operation& operation : operations) {
    if (operation.kind == kind) targets.insert(operation.target);
    collect_targets(operation.body, kind, targets);
  }
}

/// Running statistics and the like, which a forward pass changes: a skipped update must not keep what it did
/// to them.
class Buffers {
 public:
  explicit Buffers(Model& model) {
    for (const torch::Tensor& buffer : model.buffers()) saved_.emplace_back(buffer, buffer.clone());
  }
  void restore() {
    const torch::NoGradGuard no_grad;
    for (auto& [buffer, content] : saved_) buffer.copy_(content);
  }

 private:
  std::vector<std::pair<torch::Tensor, torch::Tensor>> saved_;
};

}  // namespace

WindowRunner::WindowRunner(const plan::Plan& plan, const Source& train, Model& model,
                           gradients::Parameters& parameters, const Objective& objective, const Steps& steps,
                           Averages& averages, Clocks& clocks, int64_t horizon,
                           distributed::Communicator& ranks)
    : plan_(plan),
      train_(train),
      model_(model),
      parameters_(parameters),
      objective_(objective),
      averages_(averages),
      clocks_(clocks),
      horizon_(horizon),
      ranks_(plan, parameters, objective, ranks),
      micro_operations_(model, objective, ranks_),
      update_operations_(parameters, objective, steps, averages, clocks, ranks_,
                         first_reduction(plan.update)),
      interpreter_(micro_operations_, update_operations_, objective, clocks, ranks_),
      counts_ahead_(plan::needs_counts_ahead(plan.micro)) {
  if (plan.amp.mode == plan::AmpMode::fp16) scaler_.emplace(plan.amp);
  for (const auto* block : {&plan.micro, &plan.update}) {
    collect_targets(*block, plan::OpKind::tick, written_ticks_);
    collect_targets(*block, plan::OpKind::average, written_averages_);
  }
}

WindowState WindowRunner::open(const data::WindowPlan& window) {
  WindowState state = open_window(plan_, window, clocks_, horizon_, objective_);
  state.scaler = loss_scaler();
  if (scaler_) state.opening_scale = scaler_->scale();
  return state;
}

void WindowRunner::run_micro_batch(size_t index, const Batch& batch, WindowState& state) {
  MicroState micro =
      open_micro_batch(index, static_cast<size_t>(state.micro_batches), objective_.count(batch));
  micro.batch = &batch;
  interpreter_.run(plan_.micro, state, &micro);
}

WindowResult WindowRunner::run(const data::WindowPlan& window, const std::function<Batch()>& next_batch) {
  WindowResult result;
  WindowState& state = result.state;
  state = open(window);
  std::optional<amp::LossScaler> scaler_at_opening = scaler_;
  const amp::KeptCasts casts(plan_.amp.mode);
  const distributed::CollectiveLog::Totals before = ranks_.ranks().traffic();
  parameters_.clear_touched();
  Buffers buffers(model_);
  start_stream(plan_.seed, Stream::training, static_cast<uint64_t>(state.number), ranks_.ranks().rank());
  if (counts_ahead_) {
    // Only the counts are kept: the batches of a whole window need not fit into memory at once.
    state.rank_counts = count_window(plan_.micro, state, interpreter_, objective_,
                                     [&](size_t k) { return objective_.count(collate(window.micro[k])); });
    state.counts = ranks_.sum_counts(state.rank_counts);
    state.counts_complete = true;
  }
  for (size_t k = 0; k < window.micro.size(); ++k) {
    const Batch batch = next_batch();
    state.positions += batch.positions;
    run_micro_batch(k, batch, state);
  }
  ranks_.finish();
  ranks_.agree(state);
  state.counts_complete = true;
  result.empty = objective_.empty(state.counts);
  if (result.empty) {
    if (plan_.window.empty == plan::EmptyPolicy::error) {
      throw Error(ErrorKind::training,
                  "window " + std::to_string(state.number + 1) + " has no counted unit in any of its " +
                      std::to_string(state.micro_batches) + " micro-batches",
                  "check the loss's `ignore`, make the window larger, or use window { empty = skip }");
    }
    parameters_.zero_gradients();
  } else {
    if (on_gradient_) on_gradient_(state);
    interpreter_.run(plan_.update, state, nullptr);
  }
  parameters_.settle();  // a gradient that lives on does so in memory
  if (!state.applied() && !result.empty && state.stepped) {
    buffers.restore();
    trace(window, state, scaler_at_opening ? &*scaler_at_opening : nullptr);
    buffers.restore();
  }
  const distributed::CollectiveLog::Totals after = ranks_.ranks().traffic();
  state.collectives = after.collectives - before.collectives;
  state.collective_bytes = after.bytes - before.bytes;
  finish(result);
  return result;
}

void WindowRunner::rehearse(const data::WindowPlan& window) {
  const RankSync::Local local(ranks_);
  const amp::KeptCasts casts(plan_.amp.mode);
  Buffers buffers(model_);
  start_stream(plan_.seed, Stream::training, 0, ranks_.ranks().rank());
  WindowState state = open(window);
  for (const data::MicroBatchPlan& micro : window.micro) add(state.counts, objective_.count(collate(micro)));
  state.rank_counts = state.counts;
  state.counts_complete = true;
  for (size_t k = 0; k < window.micro.size(); ++k) run_micro_batch(k, collate(window.micro[k]), state);
  parameters_.zero_gradients();
  parameters_.clear_touched();
  buffers.restore();
}

void WindowRunner::trace(const data::WindowPlan& window, WindowState& state, amp::LossScaler* scaler) {
  if (!state.nonfinite) state.nonfinite.emplace();
  std::optional<size_t>& culprit = state.nonfinite->micro_batch;
  if (window.micro.size() == 1 && ranks_.ranks().size() == 1) {
    culprit = 0;
    return;
  }
  culprit = bad_loss(state);
  if (!culprit && repeatable(plan_.micro)) culprit = look_again(window, state, scaler);
  ranks_.agree_on_culprit(*state.nonfinite, state.micro_batches);
}

std::optional<size_t> WindowRunner::look_again(const data::WindowPlan& window, const WindowState& state,
                                               amp::LossScaler* scaler) {
  const RankSync::Local local(ranks_);
  start_stream(plan_.seed, Stream::training, static_cast<uint64_t>(state.number), ranks_.ranks().rank());
  WindowState again = open(window);
  again.scaler = scaler;  // the window's own scale: `update_scale` may have lowered it since
  again.rank_counts = state.rank_counts;
  again.counts = state.counts;
  again.counts_complete = true;
  return bad_gradient(parameters_, window.micro.size(),
                      [&](size_t k) { run_micro_batch(k, collate(window.micro[k]), again); });
}

void WindowRunner::finish(WindowResult& result) {
  WindowState& state = result.state;
  result.applied = !result.empty && state.applied();
  if (result.empty) {
    result.skipped = "no counted unit in the window";
  } else if (!state.stepped) {
    result.skipped = "no step was reached";
  } else if (!result.applied) {
    result.skipped = to_text(*state.nonfinite, state.micro_batches);
    if (state.scaler) {
      result.skipped +=
          ", at a loss scale of " + plan::to_text(plan::Expression::constant(state.opening_scale));
    }
  }
  if (result.applied) {
    for (const plan::Average& average : plan_.averages) {
      if (written_averages_.contains(average.name)) continue;
      averages_.update(average.name, variables(clocks_, objective_, state, nullptr, ranks_.ranks().size()));
    }
  }
  for (const auto& [clock, spelling] : plan::spellings(plan::Clock{})) {
    // An empty window skips the update block: the clocks that always advance do so nevertheless.
    const bool advanced_already = written_ticks_.contains(spelling) && !result.empty;
    if (!advanced_already) clocks_.advance(clock, result.applied, state.totals);
  }
}

}  // namespace loop::engine
