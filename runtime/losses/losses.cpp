#include <functional>
#include <map>

#include "loop/arguments.h"
#include "loop/loss.h"
#include "runtime/losses/counting.h"
#include "runtime/losses/info_nce.h"

namespace loop {
namespace {

using losses::counted_mask;
using torch::Tensor;

std::optional<double> as_number(std::optional<int64_t> value) {
  return value ? std::optional<double>(static_cast<double>(*value)) : std::nullopt;
}

/// Outputs as [n, classes] and their targets.
struct Rows {
  Tensor outputs;
  Tensor targets;  // [n] int64
};

/// [n] bool: which rows have a target that counts.
Tensor counted_rows(const Batch& batch, std::optional<double> ignore) {
  return counted_mask(batch, ignore).reshape({-1});
}

Rows class_rows(const Tensor& outputs, const Batch& batch, const std::string& who) {
  const Tensor& targets = batch.targets;
  if (targets.is_floating_point())
    throw Error(ErrorKind::findings, who + " needs classes as targets, but this source gives numbers",
                "Use mse, l1 or bce_with_logits, or another source.");
  if (outputs.dim() != targets.dim() + 1 || outputs.sizes().slice(0, outputs.dim() - 1) != targets.sizes()) {
    std::ostringstream shapes;
    shapes << "outputs " << outputs.sizes() << ", targets " << targets.sizes();
    throw Error(ErrorKind::findings,
                who + " needs one row of class scores per target, but got " + shapes.str(),
                "Use a model whose outputs fit the source.");
  }
  return {outputs.reshape({targets.numel(), outputs.size(-1)}), targets.reshape({-1})};
}

/// −Σ_c q_c·log softmax(outputs)_c with q = (1 − s)·onehot(target) + s/C; with class weights w every term c
/// is multiplied by w_c. Smoothing has the same mask as the target.
class CrossEntropy : public Loss {
 public:
  explicit CrossEntropy(const plan::Component& component) {
    Arguments arguments("loss", component);
    ignore_ = as_number(arguments.optional_integer("ignore"));
    smoothing_ = arguments.number("label_smoothing", 0.0, 0.0, 1.0);
    weights_ = arguments.optional_numbers("weights", 0.0);
    arguments.finish();
  }

  Tensor sum(const Tensor& outputs, const Batch& batch) const override {
    const Rows rows = class_rows(outputs, batch, "loss cross_entropy");
    const int64_t classes = rows.outputs.size(1);
    Tensor weights;
    if (!weights_.empty()) {
      if (static_cast<int64_t>(weights_.size()) != classes) refuse_weights(classes);
      weights = torch::tensor(weights_, torch::kFloat64).to(rows.outputs.options());
    }
    const bool only_padding = !batch.valid.defined() && (!ignore_ || *ignore_ == kPaddingTarget);
    const Tensor targets = only_padding
                               ? rows.targets
                               : torch::where(counted_rows(batch, ignore_), rows.targets, kPaddingTarget);
    try {
      return at::cross_entropy_loss(rows.outputs, targets, weights, at::Reduction::Sum, kPaddingTarget,
                                    smoothing_);
    } catch (const c10::IndexError&) {
      const Tensor outside = rows.targets.lt(0).logical_or(rows.targets.ge(classes));
      const Tensor bad = counted_rows(batch, ignore_).logical_and(outside);
      throw Error(ErrorKind::training,
                  "A target is class " + std::to_string(rows.targets.masked_select(bad)[0].item<int64_t>()) +
                      ", but the model has the classes 0 to " + std::to_string(classes - 1),
                  "Give the model more outputs, or mark the target to be left out with `ignore`.");
    }
  }

  int64_t elements(const Batch& batch) const override { return losses::counted_targets(batch, ignore_); }

  double count(const plan::CountClass& count_class, const Batch& batch) const override {
    if (count_class.unit != plan::CountUnit::class_weight || weights_.empty())
      return count_units(count_class, batch);
    const Tensor targets = batch.targets.masked_select(counted_mask(batch, ignore_));
    if (targets.numel() > 0 && targets.max().item<int64_t>() >= static_cast<int64_t>(weights_.size()))
      refuse_weights(targets.max().item<int64_t>() + 1);
    return torch::tensor(weights_, torch::kFloat64).index_select(0, targets).sum().item<double>();
  }

 private:
  [[noreturn]] void refuse_weights(int64_t classes) const {
    throw Error(ErrorKind::findings,
                "loss cross_entropy has " + std::to_string(weights_.size()) + " weights for " +
                    std::to_string(classes) + " classes",
                "List one weight per class.");
  }

  std::optional<double> ignore_;
  double smoothing_ = 0;
  std::vector<double> weights_;
};

/// log²(Σ_c exp(outputs_c)): keeps the softmax's normaliser near 1.
class ZLoss : public Loss {
 public:
  explicit ZLoss(const plan::Component& component) {
    Arguments arguments("loss", component);
    ignore_ = as_number(arguments.optional_integer("ignore"));
    arguments.finish();
  }

  Tensor sum(const Tensor& outputs, const Batch& batch) const override {
    const Rows rows = class_rows(outputs, batch, "loss z_loss");
    const Tensor counted = rows.outputs.index_select(0, counted_rows(batch, ignore_).nonzero().squeeze(1));
    return counted.logsumexp(-1).square().sum();
  }

  int64_t elements(const Batch& batch) const override { return losses::counted_targets(batch, ignore_); }

 private:
  std::optional<double> ignore_;
};

/// Losses of a value against a real-valued target: per sample the mean of `element(output, target)` over its
/// counted elements.
class ValueLoss : public Loss {
 public:
  using Element = std::function<Tensor(const Tensor& outputs, const Tensor& targets)>;

  ValueLoss(std::string name, std::optional<double> ignore, Element element)
      : name_(std::move(name)), ignore_(ignore), element_(std::move(element)) {}

  Tensor sum(const Tensor& outputs, const Batch& batch) const override {
    const losses::CountedValues values = losses::counted_values(outputs, batch, ignore_, "loss " + name_);
    return (element_(values.outputs, values.targets) * values.share).sum();
  }

  int64_t elements(const Batch& batch) const override { return losses::counted_samples(batch, ignore_); }

 private:
  std::string name_;
  std::optional<double> ignore_;
  Element element_;
};

std::unique_ptr<Loss> make_value_loss(const plan::Component& component, ValueLoss::Element element) {
  Arguments arguments("loss", component);
  const std::optional<double> ignore = arguments.optional_number("ignore");
  arguments.finish();
  return std::make_unique<ValueLoss>(component.name, ignore, std::move(element));
}

std::unique_ptr<Loss> make_bce(const plan::Component& component) {
  Arguments arguments("loss", component);
  const std::optional<double> ignore = arguments.optional_number("ignore");
  const double pos_weight = arguments.number("pos_weight", 1.0, 0.0, std::numeric_limits<double>::infinity());
  if (pos_weight == 0) arguments.fail("takes `pos_weight` above 0, not 0");
  arguments.finish();
  // With x the logit, y the target and p the weight of positives:
  // −p·y·log σ(x) − (1 − y)·log(1 − σ(x)), where log σ(x) = −softplus(−x) and log(1 − σ(x)) = −softplus(x).
  return std::make_unique<ValueLoss>(component.name, ignore,
                                     [pos_weight](const Tensor& outputs, const Tensor& targets) {
                                       return pos_weight * targets * -torch::log_sigmoid(outputs) -
                                              (1 - targets) * torch::log_sigmoid(-outputs);
                                     });
}

using Maker = std::function<std::unique_ptr<Loss>(const plan::Component&)>;

const std::map<std::string, Maker>& makers() {
  static const std::map<std::string, Maker> all = {
      {"cross_entropy", [](const plan::Component& c) { return std::make_unique<CrossEntropy>(c); }},
      {"z_loss", [](const plan::Component& c) { return std::make_unique<ZLoss>(c); }},
      {"mse",
       [](const plan::Component& c) {
         return make_value_loss(c, [](const Tensor& o, const Tensor& t) { return (o - t).square(); });
       }},
      {"l1",
       [](const plan::Component& c) {
         return make_value_loss(c, [](const Tensor& o, const Tensor& t) { return (o - t).abs(); });
       }},
      {"bce_with_logits", make_bce},
      {"info_nce", losses::make_info_nce},
  };
  return all;
}

}  // namespace

std::unique_ptr<Loss> make_loss(const plan::Component& component) {
  const auto found = makers().find(component.name);
  if (found != makers().end()) return found->second(component);
  std::string known;
  for (const auto& [name, maker] : makers()) known += (known.empty() ? "" : ", ") + name;
  throw Error(ErrorKind::findings, "The loss " + component.name + " cannot be run in this build",
              "Losses that can: " + known + ".");
}

}  // namespace loop
