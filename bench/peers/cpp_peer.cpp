// One window of training by hand in C++: with torch::optim, or with _fused_adamw_ on a flat arena.
//
//   bench_cpp_peer torch_optim|arena FOLDER
//
// FOLDER holds workload.json, data.safetensors and parameters.safetensors. Before it is timed, the gradient
// of the first window goes to FOLDER/gradient_PEER.safetensors.
#include <torch/torch.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/peers/cpp_models.h"
#include "bench/peers/pace.h"
#include "bench/peers/tensors_file.h"

namespace {

using torch::Tensor;

struct MicroBatch {
  Tensor inputs, targets;
};
using Window = std::vector<MicroBatch>;

struct AdamW {
  double lr, beta1, beta2, eps, weight_decay;
};

class Updater {
 public:
  virtual ~Updater() = default;
  /// Clip, step, zero.
  virtual void update() = 0;
};

class TorchOptim : public Updater {
 public:
  TorchOptim(bench::Net& net, const AdamW& rule, double clip)
      : parameters_(net.parameters()),
        optimizer_(parameters_, torch::optim::AdamWOptions(rule.lr)
                                    .betas({rule.beta1, rule.beta2})
                                    .eps(rule.eps)
                                    .weight_decay(rule.weight_decay)),
        clip_(clip) {}

  void update() override {
    torch::nn::utils::clip_grad_norm_(parameters_, clip_);
    optimizer_.step();
    optimizer_.zero_grad();
  }

 private:
  std::vector<Tensor> parameters_;
  torch::optim::AdamW optimizer_;
  double clip_;
};

/// Parameters, gradients and moments each in one flat tensor; one fused step over all of it.
class Arena : public Updater {
 public:
  Arena(bench::Net& net, const AdamW& rule, double clip) : rule_(rule), clip_(clip) {
    const torch::NoGradGuard no_grad;
    int64_t elements = 0;
    for (const Tensor& parameter : net.parameters()) elements += parameter.numel();
    parameters_ = torch::empty({elements});
    gradients_ = torch::zeros({elements});
    m_ = torch::zeros({elements});
    v_ = torch::zeros({elements});
    step_ = torch::zeros({});
    int64_t offset = 0;
    for (Tensor parameter : net.parameters()) {
      const Tensor place = parameters_.narrow(0, offset, parameter.numel()).view(parameter.sizes());
      place.copy_(parameter);
      parameter.set_data(place);
      parameter.mutable_grad() = gradients_.narrow(0, offset, parameter.numel()).view(parameter.sizes());
      offset += parameter.numel();
    }
  }

  void update() override {
    const torch::NoGradGuard no_grad;
    const double norm = gradients_.norm().item<double>();
    if (norm > clip_) gradients_.mul_(clip_ / norm);
    step_.add_(1);
    at::_fused_adamw_({parameters_}, {gradients_}, {m_}, {v_}, {}, {step_}, rule_.lr, rule_.beta1,
                      rule_.beta2, rule_.weight_decay, rule_.eps, /*amsgrad=*/false, /*maximize=*/false);
    gradients_.zero_();
  }

 private:
  AdamW rule_;
  double clip_;
  Tensor parameters_, gradients_, m_, v_, step_;
};

std::vector<Window> read_windows(const std::string& folder, const nlohmann::json& workload) {
  const bench::Tensors data = bench::read_tensors(folder + "/data.safetensors");
  const Tensor& inputs = data.at("inputs");
  const Tensor& targets = data.at("targets");
  const int64_t size = workload.at("micro_batch");
  const size_t micro_batches = workload.at("micro_batches");
  std::vector<Window> windows;
  for (int64_t first = 0; first < inputs.size(0); first += size) {
    if (windows.empty() || windows.back().size() == micro_batches) windows.emplace_back();
    windows.back().push_back(
        {inputs.narrow(0, first, size).clone(), targets.narrow(0, first, size).flatten().clone()});
  }
  return windows;
}

void load(bench::Net& net, const std::string& folder) {
  const torch::NoGradGuard no_grad;
  const bench::Tensors values = bench::read_tensors(folder + "/parameters.safetensors");
  for (auto& item : net.named_parameters()) item.value().copy_(values.at(item.key()));
}

void accumulate(bench::Net& net, const Window& window, double units) {
  for (const MicroBatch& batch : window) {
    const Tensor outputs = net.forward(batch.inputs);
    const Tensor loss =
        at::cross_entropy_loss(outputs.view({-1, outputs.size(-1)}), batch.targets, {}, at::Reduction::Sum);
    (loss / units).backward();
  }
}

int run(const std::string& peer, const std::string& folder) {
  const auto workload = nlohmann::json::parse(std::ifstream(folder + "/workload.json"));
  at::set_num_threads(1);
  const std::shared_ptr<bench::Net> net = bench::make_net(workload);
  load(*net, folder);
  const auto& adamw = workload.at("adamw");
  const AdamW rule{adamw.at("lr"), adamw.at("betas").at(0), adamw.at("betas").at(1), adamw.at("eps"),
                   adamw.at("weight_decay")};
  const double clip = workload.at("clip"), units = workload.at("units_per_window");
  std::unique_ptr<Updater> updater;
  if (peer == "torch_optim") updater = std::make_unique<TorchOptim>(*net, rule, clip);
  if (peer == "arena") updater = std::make_unique<Arena>(*net, rule, clip);
  if (!updater) throw std::runtime_error("no peer " + peer);

  const std::vector<Window> windows = read_windows(folder, workload);
  accumulate(*net, windows.front(), units);
  bench::Tensors gradient;
  for (const auto& item : net->named_parameters()) gradient.emplace(item.key(), item.value().grad());
  bench::write_tensors(folder + "/gradient_" + peer + ".safetensors", gradient);
  gradient.clear();
  updater->update();

  bench::Pace pace;
  bool more = pace.begin();
  for (size_t i = 0; more; ++i) {
    accumulate(*net, windows[i % windows.size()], units);
    updater->update();
    more = pace.window_done();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: bench_cpp_peer torch_optim|arena FOLDER\n", 2;
  try {
    return run(argv[1], argv[2]);
  } catch (const std::exception& error) {
    return std::cerr << "error: " << error.what() << '\n', 1;
  }
}
