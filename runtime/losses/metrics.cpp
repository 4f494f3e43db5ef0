#include "loop/error.h"
#include "loop/loss.h"
#include "runtime/losses/counting.h"

namespace loop {
namespace {

using torch::Tensor;

class Accuracy : public Metric {
 public:
  explicit Accuracy(std::optional<double> ignore) : ignore_(ignore) {}

  MetricSum sum(const Tensor& outputs, const Batch& batch) const override {
    const torch::NoGradGuard no_grad;
    const Tensor mask = losses::counted_mask(batch, ignore_);
    Tensor right;
    if (!batch.targets.is_floating_point() && outputs.dim() == batch.targets.dim() + 1) {
      // argmax of no rows at all has no dimension to look along when there are no classes either; an empty
      // batch needs none.
      right = batch.targets.numel() == 0 ? torch::zeros_like(mask) : outputs.argmax(-1).eq(batch.targets);
    } else if (outputs.numel() == batch.targets.numel()) {
      right = outputs.reshape(batch.targets.sizes()).gt(0).eq(batch.targets.gt(0.5));
    } else {
      throw Error(ErrorKind::findings, "The metric accuracy cannot compare these outputs with these targets",
                  "Use the metric mse or l1 for targets that are no classes.");
    }
    return {right.logical_and(mask).sum().item<double>(), mask.sum().item<double>()};
  }

 private:
  std::optional<double> ignore_;
};

/// Σ over samples of the mean over a sample's counted elements of |output − target|^power.
class Deviation : public Metric {
 public:
  Deviation(std::string name, std::optional<double> ignore, double power)
      : name_(std::move(name)), ignore_(ignore), power_(power) {}

  MetricSum sum(const Tensor& outputs, const Batch& batch) const override {
    const torch::NoGradGuard no_grad;
    const losses::CountedValues values =
        losses::counted_values(outputs.to(torch::kFloat64), batch, ignore_, "metric " + name_);
    const Tensor deviation = (values.outputs - values.targets).abs().pow(power_);
    return {(deviation * values.share).sum().item<double>(),
            static_cast<double>(losses::counted_samples(batch, ignore_))};
  }

 private:
  std::string name_;
  std::optional<double> ignore_;
  double power_;
};

}  // namespace

std::unique_ptr<Metric> make_metric(const std::string& name, std::optional<int64_t> ignore) {
  std::optional<double> mask;
  if (ignore) mask = static_cast<double>(*ignore);
  if (name == "accuracy") return std::make_unique<Accuracy>(mask);
  if (name == "mse") return std::make_unique<Deviation>(name, mask, 2);
  if (name == "l1") return std::make_unique<Deviation>(name, mask, 1);
  return nullptr;
}

}  // namespace loop
