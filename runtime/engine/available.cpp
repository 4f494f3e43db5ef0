#include "runtime/engine/available.h"

#include "loop/error.h"

namespace loop::engine {

void refuse_unavailable(const plan::Plan& plan, int64_t ranks) {
  if (plan.ranks && *plan.ranks != ranks) {
    throw Error(ErrorKind::findings,
                "the plan is for ranks = " + std::to_string(*plan.ranks) + ", but " + std::to_string(ranks) +
                    (ranks == 1 ? " process was started" : " processes were started"),
                "start as many as it says (loopc run --ranks " + std::to_string(*plan.ranks) +
                    "), or leave `ranks` out of the spec");
  }
  std::string missing;
  const auto refuse = [&missing](bool asked, const std::string& what) {
    if (asked) missing += (missing.empty() ? "" : ", ") + what;
  };
  refuse(plan.device == plan::Device::cuda, "device = cuda");
  refuse(plan.dtype == plan::Dtype::bf16, "dtype = bf16");
  refuse(!plan.init_weights.empty(), "init = weights(…)");
  refuse(plan.batch_norm == plan::BatchNorm::across_ranks, "batch_norm = across_ranks");
  refuse(plan.batch_norm == plan::BatchNorm::frozen, "batch_norm = frozen");
  refuse(plan.window.oom == plan::OomPolicy::halve, "window.oom = halve");
  refuse(plan.checkpoint.has_value(), "checkpoint");
  refuse(plan.resume != "never", "resume = " + plan.resume);
  if (!missing.empty()) {
    throw Error(ErrorKind::findings, "not available in this build: " + missing,
                "leave it out of the spec; `loopc check` and `loopc plan` accept it already");
  }
}

}  // namespace loop::engine
