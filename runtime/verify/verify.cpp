#include "runtime/verify/verify.h"

#include <charconv>
#include <tuple>

#include "loop/error.h"
#include "runtime/engine/horizon.h"
#include "runtime/plan/names.h"
#include "runtime/verify/prepare.h"
#include "runtime/verify/rank_program.h"

namespace loop::verify {

namespace {

constexpr int64_t kMostRanks = 64;

/// 0 stands for `tail`.
int64_t wanted_window(const std::string& text) {
  if (text == "first") return 1;
  if (text == "tail") return 0;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) {
    throw Error(ErrorKind::usage, "the window is '" + text + "'", "give first, tail or a number from 1 on");
  }
  return value;
}

/// The wanted window on every rank, its number, and the clocks when it opens.
struct Chosen {
  std::vector<data::WindowPlan> ranks;
  Clocks clocks;
  int64_t number = 1;
};

Chosen choose(const engine::Parts& parts, int64_t ranks, int64_t wanted) {
  std::vector<data::WindowFormer> formers;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    data::WindowFormerOptions options = parts.former;
    options.ranks = ranks;
    options.rank = rank;
    formers.emplace_back(std::move(options));
  }
  const auto& ramp = parts.plan.window.size.ramp;
  Chosen chosen;
  for (;; ++chosen.number) {
    const double ramp_clock = ramp ? chosen.clocks.value(ramp->over_clock) : 0;
    chosen.ranks.clear();
    for (data::WindowFormer& former : formers) chosen.ranks.push_back(former.next(ramp_clock));
    const data::WindowPlan& first = chosen.ranks.front();
    if (wanted == 0 ? first.epochs_after >= 1 : chosen.number == wanted) return chosen;
    chosen.clocks.window_finished(true,
                                  {first.samples, first.tokens, first.micro_batches, first.epochs_after});
  }
}

/// The rank that is furthest from the reference.
std::pair<size_t, Comparison> worst(const engine::Parts& parts, const SpecGradient& spec,
                                    const torch::Tensor& reference, double tolerance) {
  std::pair<size_t, Comparison> result;
  for (size_t r = 0; r < spec.flat.size(); ++r) {
    Comparison one = compare(*parts.parameters, spec.flat[r], reference, tolerance);
    if (r == 0 || !(one.worst <= result.second.worst)) result = {r, std::move(one)};
  }
  return result;
}

Trial run_trial(engine::Parts& parts, int64_t ranks, const VerifyOptions& options) {
  Chosen chosen = choose(parts, ranks, wanted_window(options.window));
  data::WindowFormerOptions former = parts.former;
  former.ranks = ranks;
  Setting setting{parts, chosen.ranks, chosen.clocks,
                  engine::planned_updates(parts.plan, former).value_or(-1), /*clip=*/false};
  const BigBatch big = big_batch(setting);
  Trial trial;
  trial.ranks = ranks;
  trial.window = chosen.number;
  trial.micro_batches = chosen.ranks.front().micro_batches;
  trial.samples = chosen.ranks.front().samples;
  trial.tail = chosen.ranks.front().tail;
  for (size_t c = 0; c < big.counts.size(); ++c) {
    trial.counts.emplace_back(plan::name(parts.plan.count_classes[c].unit), big.counts[c]);
  }
  if (parts.objective->empty(big.counts)) {
    throw Error(ErrorKind::usage, "window " + std::to_string(trial.window) + " has no counted unit",
                "name another one with --window");
  }
  // Without clips first: a clip that cuts hides a wrong factor.
  const SpecGradient spec = spec_gradient(setting);
  std::tie(trial.worst_rank, trial.comparison) =
      worst(parts, spec, reference_gradient(setting, big, {}), options.tolerance);
  if (!trial.comparison.equal()) {
    trial.diagnosis =
        find_cause(setting, big, spec, trial.worst_rank, trial.comparison.worst, options.tolerance);
    trial.cause = trial.diagnosis->cause();
    return trial;
  }
  if (spec.clips.empty()) return trial;
  trial.clipped = true;
  setting.clip = true;
  // Every rank executed the same clips; the first rank's stand for them.
  const torch::Tensor reference = reference_gradient(setting, big, spec.clips);
  std::tie(trial.worst_rank, trial.comparison) =
      worst(parts, spec_gradient(setting), reference, options.tolerance);
  if (!trial.comparison.equal()) trial.cause = "clip: the gradient is right without it, and wrong with it";
  return trial;
}

Report run(engine::Parts parts, std::vector<std::string> notes, const plan::Plan& original,
           const VerifyOptions& options) {
  Report report;
  report.loop = parts.plan.loop_name;
  report.tolerance = options.tolerance;
  report.notes = std::move(notes);
  set_mode(*parts.model, parts.plan.batch_norm == plan::BatchNorm::frozen);
  const int64_t asked = options.ranks > 0 ? options.ranks : original.ranks.value_or(0);
  if (asked > kMostRanks) {
    throw Error(ErrorKind::usage, std::to_string(asked) + " ranks are too many to be simulated",
                "give --ranks up to " + std::to_string(kMostRanks) + ": the arithmetic is the same");
  }
  const std::vector<int64_t> tried = asked > 0 ? std::vector<int64_t>{asked} : std::vector<int64_t>{1, 2};
  const std::vector<plan::CountClass> classes = parts.plan.count_classes;
  for (const int64_t ranks : tried) {
    parts.objective = std::make_unique<engine::Objective>(parts.plan.terms, for_ranks(classes, ranks));
    report.trials.push_back(run_trial(parts, ranks, options));
  }
  return report;
}

Report run_on(Prepared prepared, engine::Sources sources, const plan::Plan& plan,
              const VerifyOptions& options) {
  return run(engine::assemble(std::move(prepared.plan), std::move(sources), distributed::alone(),
                              std::move(prepared.compile_rule)),
             std::move(prepared.notes), plan, options);
}

}  // namespace

Report verify(const plan::Plan& plan, const VerifyOptions& options) {
  Prepared prepared = prepare(plan, options.compile_rule);
  engine::Sources sources = engine::make_sources(prepared.plan, options.data_dir);
  return run_on(std::move(prepared), std::move(sources), plan, options);
}

Report verify(const plan::Plan& plan, engine::Sources sources, const VerifyOptions& options) {
  return run_on(prepare(plan, options.compile_rule), std::move(sources), plan, options);
}

}  // namespace loop::verify
