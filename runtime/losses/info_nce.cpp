#include "runtime/losses/info_nce.h"

#include "loop/arguments.h"
#include "runtime/losses/counting.h"

namespace loop::losses {
namespace {

using torch::Tensor;

class InfoNce : public Loss {
 public:
  explicit InfoNce(const plan::Component& component) {
    Arguments arguments("loss", component);
    temperature_ = arguments.number("temperature", 0.07, 0.0, std::numeric_limits<double>::infinity());
    if (temperature_ == 0) arguments.fail("takes `temperature` above 0, not 0");
    if (arguments.choice("negatives", {"micro_batch", "window"}) == "window")
      throw Error(ErrorKind::findings,
                  "loss info_nce cannot take its negatives from the whole window in this build",
                  "Leave `negatives` out: the other samples of the micro-batch are the negatives then.");
    arguments.finish();
  }

  Tensor sum(const Tensor& outputs, const Batch& batch) const override {
    if (!batch.targets.is_floating_point() || outputs.dim() != 2 ||
        outputs.sizes() != batch.targets.sizes()) {
      std::ostringstream shapes;
      shapes << "outputs " << outputs.sizes() << ", targets " << batch.targets.sizes();
      throw Error(ErrorKind::findings,
                  "loss info_nce needs an embedding [n, d] per sample and a real-valued target of the same "
                  "shape, but "
                  "got " +
                      shapes.str(),
                  "Use a source with a vector as target, and a model with as many outputs.");
    }
    const Tensor rows = counted_mask(batch, std::nullopt).any(1).nonzero().squeeze(1);
    const Tensor from = unit(outputs.index_select(0, rows));
    const Tensor to = unit(batch.targets.index_select(0, rows).to(outputs.dtype()));
    const Tensor scores = from.matmul(to.t()) / temperature_;
    return (scores.logsumexp(1) - scores.diagonal()).sum();
  }

  int64_t elements(const Batch& batch) const override { return counted_samples(batch, std::nullopt); }

 private:
  static Tensor unit(const Tensor& rows) {
    constexpr double kSmallest = 1e-12;  // as torch.nn.functional.normalize: a zero row stays zero
    return rows / rows.norm(2, 1, true).clamp_min(kSmallest);
  }

  double temperature_ = 0;
};

}  // namespace

std::unique_ptr<Loss> make_info_nce(const plan::Component& component) {
  return std::make_unique<InfoNce>(component);
}

}  // namespace loop::losses
