#include "runtime/engine/final_parameters.h"

#include "runtime/checkpoint/safetensors.h"
#include "runtime/plan/json.h"

namespace loop::engine {

namespace {

bool same_elements(const torch::Tensor& a, const torch::Tensor& b) {
  return a.numel() > 0 && a.data_ptr() == b.data_ptr() && a.sizes() == b.sizes() &&
         a.strides() == b.strides();
}

void write(const std::filesystem::path& file, const plan::Plan& plan, const Model& model) {
  std::map<std::string, std::string> metadata = {
      {"format", "pt"}, {"loop", plan.loop_name}, {"plan", plan::plan_hash(plan)}};
  checkpoint::NamedTensors tensors;
  const auto add = [&](const std::string& name, const torch::Tensor& tensor) {
    if (!tensor.defined()) return;
    for (const auto& [first, written] : tensors) {
      if (first == name) return;
      if (same_elements(written, tensor)) {
        metadata["tied." + name] = first;
        return;
      }
    }
    tensors.emplace_back(name, tensor);
  };
  for (const auto& item : model.named_parameters()) add(item.key(), item.value());
  for (const auto& item : model.named_buffers()) add(item.key(), item.value());
  checkpoint::write_safetensors(file, tensors, metadata);
}

}  // namespace

std::filesystem::path write_parameters(const plan::Plan& plan, Model& model, Averages& averages,
                                       const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "model.safetensors";
  write(file, plan, model);
  for (const plan::Average& average : plan.averages) {
    const Averages::Swap swap(averages, average.name);
    write(folder / ("model." + average.name + ".safetensors"), plan, model);
  }
  return file;
}

}  // namespace loop::engine
