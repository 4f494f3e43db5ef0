#include "runtime/engine/objective.h"

#include <algorithm>

#include "loop/error.h"
#include "runtime/engine/precision.h"

namespace loop::engine {

namespace {

using plan::CountUnit;

/// Units without a count of their own: the mean over a micro-batch is then over the term's elements.
bool counts_elements(CountUnit unit) {
  return unit == CountUnit::constant || unit == CountUnit::window || unit == CountUnit::micro_batch;
}

}  // namespace

void add(Counts& total, const Counts& part) {
  for (size_t i = 0; i < total.size(); ++i) total[i] += part[i];
}

Objective::Objective(std::vector<plan::LossTerm> terms, std::vector<plan::CountClass> classes, int64_t ranks)
    : terms_(std::move(terms)), classes_(std::move(classes)), counters_(classes_.size()), ranks_(ranks) {
  if (terms_.empty()) throw Error(ErrorKind::internal, "a plan without a loss term");
  for (const plan::LossTerm& term : terms_) {
    if (term.count_class < 0 || static_cast<size_t>(term.count_class) >= classes_.size()) {
      throw Error(ErrorKind::internal,
                  "loss term '" + term.name + "' names a count class that does not exist");
    }
    losses_.push_back(make_loss(term.component));
    const Loss*& counter = counters_[static_cast<size_t>(term.count_class)];
    if (!counter) counter = losses_.back().get();
  }
  if (std::find(counters_.begin(), counters_.end(), nullptr) != counters_.end()) {
    throw Error(ErrorKind::internal, "a count class that no loss term divides by");
  }
}

Counts Objective::count(const Batch& batch) const {
  Counts counts;
  counts.reserve(classes_.size());
  for (size_t c = 0; c < classes_.size(); ++c) counts.push_back(counters_[c]->count(classes_[c], batch));
  return counts;
}

bool Objective::empty(const Counts& window) const {
  return std::all_of(window.begin(), window.end(), [](double count) { return count == 0; });
}

double Objective::divisor(size_t count_class, const Counts& window) const {
  const plan::CountClass& rule = classes_[count_class];
  if (rule.unit == CountUnit::constant) return rule.constant;
  if (rule.unit == CountUnit::window) return 1;
  if (!rule.at_least) return window[count_class];
  const auto ranks = [this](std::string_view name) {
    return name == "ranks" ? std::optional<double>(static_cast<double>(ranks_)) : std::nullopt;
  };
  const std::optional<double> least = plan::evaluate(*rule.at_least, ranks);
  if (!least)
    throw Error(ErrorKind::internal,
                "at_least reads " + plan::to_text(*rule.at_least) + ", which has no value");
  return std::max(window[count_class], *least);
}

bool Objective::terms_share_one_class() const {
  return std::all_of(terms_.begin(), terms_.end(), [this](const plan::LossTerm& term) {
    return term.count_class == terms_.front().count_class;
  });
}

bool Objective::divides_by_count(size_t term) const {
  return unit(term) != CountUnit::constant && unit(term) != CountUnit::window;
}

Objective::Terms Objective::evaluate(const torch::Tensor& model_outputs, const Batch& batch,
                                     plan::LossMode mode) const {
  const torch::Tensor outputs = in_full_precision(model_outputs);
  Terms result;
  for (size_t t = 0; t < terms_.size(); ++t) {
    torch::Tensor value = losses_[t]->sum(outputs, batch);
    const bool mean_of_micro_batch = unit(t) == CountUnit::micro_batch;
    const bool needs_elements =
        mean_of_micro_batch || (mode == plan::LossMode::mean && counts_elements(unit(t)));
    const double elements = needs_elements ? static_cast<double>(losses_[t]->elements(batch)) : 0;
    if (mean_of_micro_batch && elements > 0) value = value / elements;
    result.values.push_back(std::move(value));
    result.elements.push_back(elements);
  }
  return result;
}

torch::Tensor Objective::combine(const Terms& terms, plan::LossMode mode, const Counts& micro,
                                 const Counts& window) const {
  torch::Tensor total;
  for (size_t t = 0; t < terms_.size(); ++t) {
    const auto count_class = static_cast<size_t>(terms_[t].count_class);
    double factor = terms_[t].weight;
    if (mode == plan::LossMode::mean && unit(t) != CountUnit::micro_batch) {
      const double count = counts_elements(unit(t)) ? terms.elements[t] : micro[count_class];
      if (count > 0) factor /= count;  // with nothing counted the sum is 0 already
    } else if (mode == plan::LossMode::normalized) {
      const double count = divisor(count_class, window);
      if (count > 0) factor /= count;
    }
    const torch::Tensor part = factor == 1 ? terms.values[t] : terms.values[t] * factor;
    total = total.defined() ? total + part : part;
  }
  return total;
}

}  // namespace loop::engine
