#include "runtime/losses/counting.h"

#include <sstream>

#include "loop/error.h"
#include "loop/loss.h"

namespace loop {
namespace losses {
namespace {

bool holds_classes(const torch::Tensor& targets) {
  return !targets.is_floating_point();
}

std::string per_sample(const torch::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.sizes().slice(1);
  return text.str();
}

/// Calls `count(counted targets)` for every row of integer targets on the host, without tensors in between:
/// this is done for every micro-batch. False for other targets.
template <class Count>
bool count_rows(const Batch& batch, std::optional<double> ignore, Count count) {
  const torch::Tensor& targets = batch.targets;
  const bool plain = targets.scalar_type() == torch::kInt64 && targets.is_cpu() && targets.is_contiguous() &&
                     targets.dim() > 0 && targets.size(0) > 0;
  if (!plain || (batch.valid.defined() && !batch.valid.is_contiguous())) return false;
  const int64_t rows = targets.size(0), width = targets.numel() / rows;
  const auto* target = targets.const_data_ptr<int64_t>();
  const bool* valid = batch.valid.defined() ? batch.valid.const_data_ptr<bool>() : nullptr;
  for (int64_t row = 0; row < rows; ++row, target += width) {
    int64_t counted = 0;
    if (!valid || valid[row]) {
      for (int64_t i = 0; i < width; ++i)
        counted += target[i] != kPaddingTarget && !(ignore && static_cast<double>(target[i]) == *ignore);
    }
    count(counted);
  }
  return true;
}

}  // namespace

torch::Tensor counted_mask(const Batch& batch, std::optional<double> ignore) {
  const torch::Tensor& targets = batch.targets;
  torch::Tensor mask =
      holds_classes(targets) ? targets.ne(kPaddingTarget) : torch::ones_like(targets, torch::kBool);
  if (ignore && !(holds_classes(targets) && *ignore == kPaddingTarget))
    mask = mask.logical_and(targets.ne(*ignore));
  if (batch.valid.defined()) {
    std::vector<int64_t> shape(static_cast<size_t>(targets.dim()), 1);
    shape[0] = targets.size(0);
    mask = mask.logical_and(batch.valid.view(shape));
  }
  return mask;
}

int64_t counted_targets(const Batch& batch, std::optional<double> ignore) {
  if (!holds_classes(batch.targets)) return counted_samples(batch, ignore);
  int64_t total = 0;
  if (count_rows(batch, ignore, [&](int64_t counted) { total += counted; })) return total;
  return counted_mask(batch, ignore).sum().item<int64_t>();
}

int64_t counted_samples(const Batch& batch, std::optional<double> ignore) {
  if (batch.targets.numel() == 0) return 0;
  int64_t total = 0;
  if (count_rows(batch, ignore, [&](int64_t counted) { total += counted > 0; })) return total;
  return counted_mask(batch, ignore).reshape({batch.targets.size(0), -1}).any(1).sum().item<int64_t>();
}

CountedValues counted_values(const torch::Tensor& outputs, const Batch& batch, std::optional<double> ignore,
                             const std::string& who) {
  const torch::Tensor& targets = batch.targets;
  const int64_t rows = targets.size(0);
  if (outputs.size(0) != rows || outputs.numel() != targets.numel())
    throw Error(ErrorKind::findings,
                who + ": the model gives " + per_sample(outputs) + " values per sample, the target has " +
                    per_sample(targets),
                "Make the model's `outputs` equal to the number of target columns.");
  const int64_t elements = rows == 0 ? 0 : targets.numel() / rows;
  const torch::Tensor mask = counted_mask(batch, ignore).reshape({rows, elements});
  const torch::Tensor zero = torch::zeros({}, outputs.options());
  const torch::Tensor counts = mask.sum(1, /*keepdim=*/true).clamp_min(1);
  return {torch::where(mask, outputs.reshape({rows, elements}), zero),
          torch::where(mask, targets.reshape({rows, elements}).to(outputs.scalar_type()), zero),
          mask.to(outputs.scalar_type()) / counts};
}

}  // namespace losses

double count_units(const plan::CountClass& count_class, const Batch& batch) {
  std::optional<double> ignore;
  if (count_class.ignore) ignore = static_cast<double>(*count_class.ignore);
  switch (count_class.unit) {
    case plan::CountUnit::tokens:
      return static_cast<double>(losses::counted_targets(batch, ignore));
    case plan::CountUnit::samples:
      return static_cast<double>(losses::counted_samples(batch, ignore));
    case plan::CountUnit::positions:
      return static_cast<double>(batch.positions);
    case plan::CountUnit::constant:
    case plan::CountUnit::window:
    case plan::CountUnit::micro_batch:
      return losses::counted_targets(batch, ignore) > 0 ? 1 : 0;
    case plan::CountUnit::boxes:
      throw Error(ErrorKind::findings,
                  "`per boxes` needs targets that are boxes, and no source of this build gives any",
                  "Count `per samples` instead.");
    case plan::CountUnit::class_weight:
      throw Error(
          ErrorKind::findings, "`per class_weight` needs a loss with class weights",
          "Give the loss its `weights`, as in cross_entropy(weights: [1, 4]), or count `per tokens`.");
  }
  throw Error(ErrorKind::internal, "A count class has an unknown unit");
}

double Loss::count(const plan::CountClass& count_class, const Batch& batch) const {
  return count_units(count_class, batch);
}

}  // namespace loop
