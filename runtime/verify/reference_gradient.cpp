#include "runtime/verify/reference_gradient.h"

#include <algorithm>

#include "runtime/engine/random.h"

namespace loop::verify {

namespace {

using plan::LossMode;

bool per_micro_batch(const engine::Parts& parts, size_t term) {
  const auto one = static_cast<size_t>(parts.objective->terms()[term].count_class);
  return parts.objective->classes()[one].unit == plan::CountUnit::micro_batch;
}

/// A term's Σ ℓ over the micro-batches' rows of the big batch's outputs.
torch::Tensor split_sum(const engine::Parts& parts, const BigBatch& big, const torch::Tensor& outputs,
                        size_t term) {
  torch::Tensor total;
  for (const auto& micro : big.rows) {
    for (const auto& [first, count] : micro) {
      const auto terms = parts.objective->evaluate(outputs.narrow(0, first, count),
                                                   rows_of(big.batch, first, count), LossMode::sum);
      total = total.defined() ? total + terms.values[term] : terms.values[term];
    }
  }
  return total;
}

void start_random(const Setting& setting) {
  engine::start_stream(setting.parts.plan.seed, engine::Stream::training,
                       static_cast<uint64_t>(setting.clocks.attempts));
}

}  // namespace

Batch rows_of(const Batch& batch, int64_t first, int64_t count) {
  Batch part;
  part.inputs = batch.inputs.narrow(0, first, count);
  part.targets = batch.targets.narrow(0, first, count);
  if (batch.valid.defined()) part.valid = batch.valid.narrow(0, first, count);
  part.samples = count;  // a big batch has no padding rows
  const int64_t rows = std::max<int64_t>(1, batch.inputs.size(0));
  part.positions = batch.positions / rows * count;
  const auto begin = batch.sample_ids.begin() + first;
  part.sample_ids.assign(begin, begin + count);
  return part;
}

BigBatch big_batch(const Setting& setting, bool reversed) {
  BigBatch big;
  std::vector<int64_t> samples;
  big.rows.resize(setting.ranks.front().micro.size());
  for (size_t k = 0; k < big.rows.size(); ++k) {
    for (const data::WindowPlan& rank : setting.ranks) {
      const auto& own = rank.micro[k].samples;
      big.rows[k].emplace_back(static_cast<int64_t>(samples.size()), static_cast<int64_t>(own.size()));
      samples.insert(samples.end(), own.begin(), own.end());
    }
  }
  if (reversed) std::reverse(samples.begin(), samples.end());
  big.batch = setting.parts.train().collate(samples, 0);
  const engine::Objective& objective = *setting.parts.objective;
  big.counts = objective.count(big.batch);
  // What counts micro-batches, or their padding, is defined by the split.
  for (size_t c = 0; c < big.counts.size(); ++c) {
    const plan::CountUnit unit = objective.classes()[c].unit;
    if (unit != plan::CountUnit::micro_batch && unit != plan::CountUnit::positions) continue;
    big.counts[c] = 0;
    for (const auto& micro : batches(setting)) {
      for (const Batch& one : micro) big.counts[c] += objective.count(one)[c];
    }
  }
  if (reversed) big.rows.clear();
  return big;
}

torch::Tensor reference_gradient(const Setting& setting, const BigBatch& big,
                                 const std::vector<plan::Operation>& clips) {
  engine::Parts& parts = setting.parts;
  const ModelGuard guard(parts);
  start_random(setting);
  const torch::Tensor outputs = parts.model->forward(big.batch);
  engine::Objective::Terms terms = parts.objective->evaluate(outputs, big.batch, LossMode::sum);
  for (size_t t = 0; t < terms.values.size(); ++t) {
    if (per_micro_batch(parts, t) && !big.rows.empty()) terms.values[t] = split_sum(parts, big, outputs, t);
  }
  parts.objective->combine(terms, LossMode::normalized, big.counts, big.counts).backward();
  for (const plan::Operation& clip : clips) {
    const auto limit = plan::evaluate(clip.limit, setting.clocks.lookup(setting.horizon));
    if (!limit) continue;
    if (clip.kind == plan::OpKind::clip_norm) parts.parameters->clip_norm(clip.groups, *limit);
    if (clip.kind == plan::OpKind::clip_value) parts.parameters->clip_value(clip.groups, *limit);
  }
  return parts.parameters->flat_gradient();
}

TermSums term_sums(const Setting& setting, const BigBatch& big) {
  const ModelGuard guard(setting.parts);
  const torch::NoGradGuard no_grad;
  start_random(setting);
  const torch::Tensor outputs = setting.parts.model->forward(big.batch);
  const auto terms = setting.parts.objective->evaluate(outputs, big.batch, LossMode::sum);
  TermSums sums;
  for (size_t t = 0; t < terms.values.size(); ++t) {
    const double split = split_sum(setting.parts, big, outputs, t).item<double>();
    sums.whole.push_back(per_micro_batch(setting.parts, t) ? split : terms.values[t].item<double>());
    sums.split.push_back(split);
  }
  return sums;
}

std::vector<Part> micro_gradients(const Setting& setting) {
  engine::Parts& parts = setting.parts;
  const ModelGuard guard(parts);
  start_random(setting);
  std::vector<Part> result;
  const auto all = batches(setting);
  for (size_t k = 0; k < all.size(); ++k) {
    for (size_t r = 0; r < all[k].size(); ++r) {
      const Batch& batch = all[k][r];
      const engine::Counts counts = parts.objective->count(batch);
      const torch::Tensor outputs = parts.model->forward(batch);
      const auto terms = parts.objective->evaluate(outputs, batch, LossMode::sum);
      for (size_t t = 0; t < terms.values.size(); ++t) {
        parts.parameters->zero_gradients();
        if (terms.values[t].requires_grad()) {
          terms.values[t].backward({}, /*retain_graph=*/t + 1 < terms.values.size());
        }
        const auto one = static_cast<size_t>(parts.objective->terms()[t].count_class);
        result.push_back({k, r, t, counts[one], parts.parameters->flat_gradient()});
      }
    }
  }
  return result;
}

}  // namespace loop::verify
