#include "runtime/verify/causes.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "runtime/engine/random.h"
#include "runtime/plan/names.h"
#include "runtime/verify/comparison.h"
#include "runtime/verify/prepare.h"

namespace loop::verify {

namespace {

using Verdict = Check::Verdict;

constexpr double kNoise = 1e-12;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

torch::Tensor outputs(const Setting& setting, const Batch& batch, uint64_t stream) {
  const ModelGuard guard(setting.parts);
  const torch::NoGradGuard no_grad;
  engine::start_stream(setting.parts.plan.seed, engine::Stream::training, stream);
  return setting.parts.model->forward(batch).clone();
}

class Search {
 public:
  Search(const Setting& setting, const BigBatch& big, const SpecGradient& spec, size_t rank, double error,
         double tolerance)
      : setting_(setting), big_(big), spec_(spec), rank_(rank), error_(error), tolerance_(tolerance) {}

  Diagnosis run() {
    result_.factors = find_factors(setting_, big_, spec_.flat[rank_]);
    parameters();
    samples_and_mask();
    reduction();
    denominator();
    zero_or_missing();
    const bool random = random_layer();
    batch_norm();
    coupling(random);
    summation();
    return std::move(result_);
  }

 private:
  void add(const char* name, const char* title, Verdict verdict, std::string evidence) {
    result_.checks.push_back({name, title, verdict, std::move(evidence)});
  }
  static Verdict differs_if(bool differs) { return differs ? Verdict::differs : Verdict::same; }

  void parameters() {
    add("parameters", "parameters fixed through the window", differs_if(spec_.moved != 0),
        "largest change before the update block " + number(spec_.moved));
  }

  void samples_and_mask() {
    const engine::Objective& objective = *setting_.parts.objective;
    bool differs = false;
    std::string evidence;
    for (size_t c = 0; c < objective.classes().size(); ++c) {
      const bool one = std::abs(spec_.counts[c] - big_.counts[c]) > kNoise * std::abs(big_.counts[c]);
      differs = differs || one;
      evidence += (c ? "; " : "") + number(spec_.counts[c]) + " " + plan::name(objective.classes()[c].unit) +
                  " counted in the micro-batches, " + number(big_.counts[c]) + " in the big batch";
    }
    const double padding = padding_effect();
    if (padding > 1e-9) {
      differs = true;
      evidence += "; a sample's outputs change by " + number(padding) + " with the length it is padded to";
    }
    add("samples_and_mask", "samples, mask and count", differs_if(differs), evidence);
  }

  /// How much the outputs of the first micro-batch change when it is padded as in the big batch.
  double padding_effect() const {
    if (big_.batch.inputs.dim() != 2 || big_.batch.inputs.is_floating_point()) return 0;
    const auto [first, count] = big_.rows[0][0];
    const Batch own = batches(setting_)[0][0];
    if (count == 0 || own.inputs.size(0) != count) return 0;
    const Batch padded = rows_of(big_.batch, first, count);
    if (own.inputs.size(1) == padded.inputs.size(1)) return 0;
    const torch::Tensor a = outputs(setting_, own, 0), b = outputs(setting_, padded, 0);
    if (a.dim() != 3) return a.sizes() == b.sizes() ? relative_error(b, a) : 0;
    const torch::Tensor mask = own.targets.ne(kPaddingTarget).unsqueeze(-1);
    return relative_error(b.narrow(1, 0, a.size(1)) * mask, a * mask);
  }

  bool explained() const { return result_.factors && result_.factors->explains(); }
  static std::string not_explained() { return "no factors per micro-batch explain the gradient"; }

  std::string where(const FoundFactor& one) const {
    std::string text = "micro-batch " + std::to_string(one.micro_batch + 1);
    if (setting_.ranks.size() > 1) text += " of rank " + std::to_string(one.rank);
    if (setting_.parts.objective->terms().size() > 1) {
      text += ", term '" + setting_.parts.objective->terms()[one.term].name + "'";
    }
    return text + " (" + number(one.counted) + " counted)";
  }

  static double ratio(const FoundFactor& one) { return one.found / one.right; }
  static bool absent(const FoundFactor& one) { return std::abs(ratio(one)) < 1e-6; }

  /// Within a term, present micro-batches must have one factor.
  void reduction() {
    constexpr const char* kTitle = "loss reduction: one factor for all micro-batches";
    if (!explained()) return add("loss_reduction", kTitle, Verdict::not_measured, not_explained());
    const FoundFactor *low = nullptr, *high = nullptr;
    bool by_count = true;
    double product = 0;
    for (size_t t = 0; t < setting_.parts.objective->terms().size(); ++t) {
      const FoundFactor *least = nullptr, *most = nullptr;
      for (const FoundFactor& one : result_.factors->list) {
        if (one.term != t || absent(one)) continue;
        if (!least || ratio(one) < ratio(*least)) least = &one;
        if (!most || ratio(one) > ratio(*most)) most = &one;
        if (product == 0) product = one.found * one.counted;
        by_count = by_count && std::abs(one.found * one.counted - product) <= 1e-4 * std::abs(product);
      }
      if (!least || ratio(*most) - ratio(*least) <= 1e-5 * std::abs(ratio(*most))) continue;
      if (!low || ratio(*most) - ratio(*least) > ratio(*high) - ratio(*low)) low = least, high = most;
    }
    if (!low) return add("loss_reduction", kTitle, Verdict::same, "one factor per term");
    add("loss_reduction", kTitle, Verdict::differs,
        "factor " + number(high->found) + " on " + where(*high) + ", " + number(low->found) + " on " +
            where(*low) + ", right for both: " + number(low->right) +
            (by_count ? "; factor times count is " + number(product) +
                            " on every one: a mean of means, each micro-batch weighs the same"
                      : ""));
  }

  void denominator() {
    constexpr const char* kTitle = "denominator: 1/N";
    if (!explained()) return add("denominator", kTitle, Verdict::not_measured, not_explained());
    std::string evidence;
    bool differs = false;
    for (size_t t = 0; t < setting_.parts.objective->terms().size(); ++t) {
      double lowest = 0, highest = 0;
      const FoundFactor* sample = nullptr;
      for (const FoundFactor& one : result_.factors->list) {
        if (one.term != t || absent(one)) continue;
        if (!sample) lowest = highest = ratio(one);
        lowest = std::min(lowest, ratio(one));
        highest = std::max(highest, ratio(one));
        sample = &one;
      }
      if (!sample) continue;
      const bool one_factor = highest - lowest <= 1e-5 * std::abs(highest);
      const bool wrong = one_factor && std::abs(highest - 1) > 1e-5;
      differs = differs || wrong;
      if (!evidence.empty()) evidence += "; ";
      evidence += "term '" + setting_.parts.objective->terms()[t].name + "': ";
      evidence += one_factor ? "factor " + number(sample->found) + ", right: " + number(sample->right)
                             : "no single factor";
      if (wrong) evidence += ", " + number(highest) + " times too large" + meaning(highest);
    }
    add("denominator", kTitle, differs_if(differs), evidence);
  }

  /// What a ratio probably is.
  std::string meaning(double ratio) const {
    const auto ranks = static_cast<double>(setting_.ranks.size());
    const auto micro_batches = static_cast<double>(big_.rows.size());
    const auto is = [ratio](double value) { return std::abs(ratio - value) <= 1e-6 * value; };
    if (ranks > 1 && is(ranks)) return " (the number of ranks)";
    if (ranks > 1 && is(1 / ranks)) return " (1 / ranks)";
    if (is(micro_batches)) return " (the number of micro-batches)";
    if (is(1 / micro_batches)) return " (1 / micro-batches)";
    for (size_t c = 0; c < big_.counts.size(); ++c) {
      if (is(big_.counts[c])) return " (the count itself: nothing divides by it)";
      if (is(1 / big_.counts[c])) return " (1 / the count: divided twice)";
    }
    return "";
  }

  void zero_or_missing() {
    constexpr const char* kTitle = "no zero, step or missing reduction in the window";
    if (!explained()) return add("zero_or_step", kTitle, Verdict::not_measured, not_explained());
    size_t missing = 0;
    const FoundFactor* first = nullptr;
    for (const FoundFactor& one : result_.factors->list) {
      if (!absent(one)) continue;
      ++missing;
      if (!first) first = &one;
    }
    const size_t all = result_.factors->list.size();
    add("zero_or_step", kTitle, differs_if(missing > 0),
        missing == 0 ? "all " + std::to_string(all) + " gradients of micro-batches are in it"
                     : std::to_string(missing) + " of " + std::to_string(all) + " are not in what rank " +
                           std::to_string(rank_) + " steps with, first " + where(*first));
  }

  bool random_layer() {
    const Batch& batch = big_.batch;
    const double change = relative_error(outputs(setting_, batch, 1), outputs(setting_, batch, 2));
    add("random_layer", "random layers", differs_if(change > kNoise),
        "two forward passes over the same batch differ by " + number(change));
    return change > kNoise;
  }

  void batch_norm() {
    const std::vector<std::string> names = batch_norms(*setting_.parts.model);
    if (names.empty()) return add("batch_norm", "BatchNorm statistics", Verdict::same, "the model has none");
    if (setting_.parts.plan.batch_norm == plan::BatchNorm::frozen) {
      return add("batch_norm", "BatchNorm statistics", Verdict::same, "frozen");
    }
    set_mode(*setting_.parts.model, /*freeze_batch_norm=*/true);
    const SpecGradient spec = spec_gradient(setting_);
    const double frozen = relative_error(spec.flat[rank_], reference_gradient(setting_, big_, {}));
    set_mode(*setting_.parts.model, /*freeze_batch_norm=*/false);
    add("batch_norm", "BatchNorm statistics", differs_if(frozen < 1e-3 * error_),
        "with BatchNorm frozen (" + std::to_string(names.size()) +
            (names.size() == 1 ? " layer, " : " layers, first ") + names.front() + ") the error is " +
            number(frozen) + " instead of " + number(error_));
  }

  void coupling(bool random) {
    const TermSums sums = term_sums(setting_, big_);
    std::string evidence;
    bool differs = false;
    for (size_t t = 0; t < sums.whole.size(); ++t) {
      const double scale = std::max(std::abs(sums.whole[t]), std::abs(sums.split[t]));
      const bool one = std::abs(sums.whole[t] - sums.split[t]) > 1e-9 * scale;
      differs = differs || one;
      evidence += (t ? "; " : "") + ("term '" + setting_.parts.objective->terms()[t].name) +
                  "' on the same outputs: " + number(sums.whole[t]) + " over the big batch, " +
                  number(sums.split[t]) + " over its micro-batches";
    }
    add("batch_coupled_loss", "loss reads samples of one batch together", differs_if(differs), evidence);
    if (random)
      return add("batch_coupled_model", "model reads samples of one batch together", Verdict::not_measured,
                 "its outputs are random");
    // BatchNorm has a check of its own: it is frozen here.
    set_mode(*setting_.parts.model, /*freeze_batch_norm=*/true);
    double change = 0;
    const torch::Tensor together = outputs(setting_, big_.batch, 0);
    for (const auto& micro : big_.rows) {
      for (const auto& [first, count] : micro) {
        if (count == 0) continue;
        const torch::Tensor alone = outputs(setting_, rows_of(big_.batch, first, count), 0);
        change = std::max(change, relative_error(alone, together.narrow(0, first, count)));
      }
    }
    set_mode(*setting_.parts.model, setting_.parts.plan.batch_norm == plan::BatchNorm::frozen);
    add("batch_coupled_model", "model reads samples of one batch together", differs_if(change > 1e-9),
        "outputs of a micro-batch alone and within the big batch differ by " + number(change));
  }

  void summation() {
    const torch::Tensor there = reference_gradient(setting_, big_, {});
    const Setting& setting = setting_;
    const bool by_split =
        std::any_of(setting.parts.objective->classes().begin(), setting.parts.objective->classes().end(),
                    [](const plan::CountClass& one) { return one.unit == plan::CountUnit::micro_batch; });
    if (by_split) {
      return add("order_of_summation", "order of summation", Verdict::not_measured,
                 "a term is defined by its micro-batches");
    }
    const double rounding =
        relative_error(reference_gradient(setting_, big_batch(setting_, true), {}), there);
    const bool other = std::any_of(result_.checks.begin(), result_.checks.end(),
                                   [](const Check& check) { return check.verdict == Verdict::differs; });
    add("order_of_summation", "order of summation",
        differs_if(!other && error_ < 1e-9 && error_ < 1e3 * rounding),
        "the big batch in reverse order changes its own gradient by " + number(rounding) + "; tolerance " +
            number(tolerance_));
  }

  const Setting& setting_;
  const BigBatch& big_;
  const SpecGradient& spec_;
  size_t rank_;
  double error_, tolerance_;
  Diagnosis result_;
};

}  // namespace

std::string Diagnosis::cause() const {
  for (const Check& check : checks) {
    if (check.verdict == Verdict::differs) return check.name;
  }
  return "unknown";
}

Diagnosis find_cause(const Setting& setting, const BigBatch& big, const SpecGradient& spec, size_t rank,
                     double error, double tolerance) {
  return Search(setting, big, spec, rank, error, tolerance).run();
}

}  // namespace loop::verify
