#include "compiler/check/rules/rules.h"

namespace loop::check {

const sema::SourceUse* train_source(const sema::Spec& spec) {
  const int train = spec.data.train;
  if (train < 0 || train >= static_cast<int>(spec.data.sources.size())) return nullptr;
  return &spec.data.sources[train];
}

bool several_micro_batches(const sema::Spec& spec) {
  const plan::WindowSize& size = spec.window.size.value;
  return size.unit != plan::WindowSize::Unit::micro_batches || size.value > 1;
}

std::string micro_batches_text(const sema::Spec& spec) {
  const plan::WindowSize& size = spec.window.size.value;
  if (size.unit != plan::WindowSize::Unit::micro_batches) return "several";
  return (size.ramp ? "up to " : "") + std::to_string(size.value);
}

}  // namespace loop::check
