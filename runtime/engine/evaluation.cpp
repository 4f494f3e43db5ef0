#include "runtime/engine/evaluation.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "loop/error.h"
#include "runtime/amp/autocast.h"
#include "runtime/engine/precision.h"
#include "runtime/engine/random.h"

namespace loop::engine {

namespace {

bool from_terms(const std::string& metric) {
  return metric == "loss" || metric == "perplexity";
}

double ratio(double numerator, double denominator) {
  return denominator == 0 ? std::numeric_limits<double>::quiet_NaN() : numerator / denominator;
}

/// Evaluation mode for a scope, then the mode before.
class EvaluationMode {
 public:
  explicit EvaluationMode(Model& model) : model_(model), was_training_(model.is_training()) { model_.eval(); }
  ~EvaluationMode() { model_.train(was_training_); }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  Model& model_;
  bool was_training_;
};

/// Sums over the evaluated samples.
struct Sums {
  std::vector<double> values;    // per term, as the objective adds it up
  std::vector<double> raw;       // per term, Σℓ whatever the unit
  std::vector<double> elements;  // per term
  Counts counts;
  std::vector<MetricSum> metrics;
};

void add_batch(Sums& sums, const Objective& objective, const torch::Tensor& outputs, const Batch& batch) {
  add(sums.counts, objective.count(batch));
  const Objective::Terms terms = objective.evaluate(outputs, batch, plan::LossMode::sum);
  for (size_t t = 0; t < terms.values.size(); ++t) {
    const double value = terms.values[t].item<double>();
    sums.values[t] += value;
    // Here elements are given only for `per micro_batch`, whose value is the mean over them.
    sums.raw[t] += terms.elements[t] > 0 ? value * terms.elements[t] : value;
    sums.elements[t] += static_cast<double>(objective.elements(t, batch));
  }
}

/// Adds up what the ranks have evaluated. False when a rank was interrupted.
bool add_ranks(distributed::Communicator& ranks, Sums& sums, telemetry::EvaluationRecord& record,
               bool interrupted) {
  if (ranks.size() == 1) return !interrupted;
  std::vector<double*> places;
  double samples = static_cast<double>(record.samples), batches = static_cast<double>(record.micro_batches),
         stopped = interrupted;
  for (auto* list : {&sums.values, &sums.raw, &sums.elements, &sums.counts}) {
    for (double& one : *list) places.push_back(&one);
  }
  for (MetricSum& metric : sums.metrics) {
    places.push_back(&metric.numerator);
    places.push_back(&metric.denominator);
  }
  for (double* one : {&samples, &batches, &stopped}) places.push_back(one);
  std::vector<double> values;
  for (const double* place : places) values.push_back(*place);
  const torch::Tensor all = torch::tensor(values, torch::kFloat64);
  ranks.all_reduce(all, distributed::Reduction::sum, "evaluation")->wait();
  for (size_t i = 0; i < places.size(); ++i) *places[i] = all.data_ptr<double>()[i];
  record.samples = static_cast<int64_t>(samples);
  record.micro_batches = static_cast<int64_t>(batches);
  return stopped == 0;
}

double loss(const Sums& sums, const Objective& objective) {
  double total = 0;
  for (size_t t = 0; t < objective.terms().size(); ++t) {
    const plan::LossTerm& term = objective.terms()[t];
    const double count =
        objective.divides_by_count(t) ? sums.counts[static_cast<size_t>(term.count_class)] : sums.elements[t];
    total += term.weight * ratio(sums.values[t], count);
  }
  return total;
}

}  // namespace

Evaluator::Evaluator(const plan::Evaluation& evaluation, const Parts& parts, Averages& averages)
    : evaluation_(evaluation), parts_(parts), averages_(averages) {
  for (const std::string& name : evaluation.metrics) {
    metrics_.push_back(from_terms(name) ? nullptr : make_metric(name, ignored_target(parts.plan)));
    if (!from_terms(name) && !metrics_.back()) {
      throw Error(ErrorKind::findings,
                  "evaluation '" + evaluation.name + "' asks for the metric '" + name + "'",
                  "there are loss, perplexity, accuracy, mse and l1");
    }
  }
  const auto& all = parts.plan.averages;
  const bool known =
      std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.name == evaluation.with; });
  if (evaluation.with != "model" && !known) {
    throw Error(ErrorKind::findings,
                "evaluation '" + evaluation.name + "' wants the average '" + evaluation.with +
                    "', which does not exist",
                "add `average " + evaluation.with + " = ema(…)`, or leave `with` out");
  }
}

std::optional<telemetry::EvaluationRecord> Evaluator::run(const Clocks& clocks,
                                                          const std::function<bool()>& interrupted) const {
  const auto begun = std::chrono::steady_clock::now();
  const torch::NoGradGuard no_grad;
  const RandomStateGuard random_state;
  const EvaluationMode mode(*parts_.model);
  const Averages::Swap swap(averages_, evaluation_.with);
  start_stream(parts_.plan.seed, Stream::evaluation, static_cast<uint64_t>(clocks.evaluations));

  // As training's forward, with casts of its own: those of training would be other parameters after `Swap`, and
  // these have no gradients.
  const plan::AmpMode amp = forward_precision(parts_.plan);
  const amp::KeptCasts casts(amp);

  const Objective& objective = *parts_.objective;
  const Source& source = *parts_.sources.at(evaluation_.source);
  const int64_t size = source.size();
  const int64_t per_batch = parts_.plan.data.micro_batch_samples;
  const std::vector<double> zeros(objective.terms().size());
  Sums sums{zeros, zeros, zeros, objective.no_counts(), std::vector<MetricSum>(metrics_.size())};
  telemetry::EvaluationRecord record;
  const auto limit = evaluation_.limit_micro_batches.value_or(std::numeric_limits<int64_t>::max());
  bool stopped = false;
  distributed::Communicator& ranks = *parts_.ranks;
  for (int64_t number = ranks.rank(); number < limit && number * per_batch < size; number += ranks.size()) {
    stopped = interrupted();
    if (stopped) break;
    const int64_t first = number * per_batch;
    std::vector<int64_t> samples(static_cast<size_t>(std::min(per_batch, size - first)));
    std::iota(samples.begin(), samples.end(), first);
    const Batch batch = source.collate(samples);
    const amp::Autocast scope(amp);
    const torch::Tensor outputs = in_full_precision(parts_.model->forward(batch));
    add_batch(sums, objective, outputs, batch);
    for (size_t m = 0; m < metrics_.size(); ++m) {
      if (!metrics_[m]) continue;
      const MetricSum part = metrics_[m]->sum(outputs, batch);
      sums.metrics[m].numerator += part.numerator;
      sums.metrics[m].denominator += part.denominator;
    }
    record.samples += batch.samples;
    ++record.micro_batches;
  }
  if (!add_ranks(ranks, sums, record, stopped)) return std::nullopt;
  for (size_t m = 0; m < metrics_.size(); ++m) {
    const std::string& name = evaluation_.metrics[m];
    const double value = name == "loss" ? loss(sums, objective)
                         : name == "perplexity"
                             ? std::exp(ratio(sums.raw[0], sums.elements[0]))
                             : ratio(sums.metrics[m].numerator, sums.metrics[m].denominator);
    record.metrics.emplace_back(name, value);
  }
  record.name = evaluation_.name;
  record.source = evaluation_.source;
  record.with = evaluation_.with;
  record.optimizer_step = clocks.updates;
  record.epoch = clocks.epochs;
  record.counted = sums.elements[0];
  record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  return record;
}

}  // namespace loop::engine
