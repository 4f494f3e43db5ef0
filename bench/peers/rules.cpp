// The rules of a plan: how long each takes to compile, and the epilogue's bandwidth against a copy.
//
//   bench_rules PLAN ROUNDS      prints a JSON object for each rule
#include <torch/torch.h>

#include <ctime>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "compiler/kernels/compiled_rule.h"
#include "runtime/gradients/passes.h"
#include "runtime/gradients/update_rule.h"
#include "runtime/plan/json.h"

namespace {

constexpr int64_t kElements = 1 << 24;  // far more than the caches hold
constexpr double kHyper = 1e-3;         // every hyper-parameter: only the time matters

/// CPU time of this process, which computes in one thread: it says something on a busy machine.
template <class Work>
double seconds(Work work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

loop::gradients::ParameterGroup make_group() {
  loop::gradients::ParameterGroup group;
  group.name = "all";
  group.parameters = torch::randn({kElements});
  group.gradients = torch::randn({kElements}) * 1e-3;
  loop::gradients::Slot slot;
  slot.name = "weight";
  slot.parameter = group.parameters;
  slot.size = kElements;
  slot.touched = true;
  group.slots.push_back(slot);
  return group;
}

nlohmann::json measure(const loop::plan::UpdateRule& rule, int rounds) {
  nlohmann::json out{{"rule", rule.name}};
  loop::gradients::ParameterGroup group = make_group();
  loop::gradients::UpdateRule update(rule, loop::kernels::rule_compiler());
  update.prepare(group);
  loop::gradients::HyperValues hyper;
  for (const std::string& name : rule.hyper) hyper.emplace_back(name, kHyper);
  const torch::Tensor target = torch::zeros({kElements});
  // A copy reads and writes an element; the epilogue reads the gradient for the norm, then reads and writes
  // parameter, gradient (zeros) and states.
  const double bytes = static_cast<double>(kElements) * sizeof(float);
  const double touched = static_cast<double>(1 + 2 * (2 + group.states.size()));
  for (int round = 0; round <= rounds; ++round) {
    const double compiling =
        seconds([&] { loop::kernels::CompiledRule::compile(rule, loop::kernels::Element::f32); });
    const double copy = seconds([&] { target.copy_(group.parameters); });
    const double norm = seconds([&] {
      group.factor = 1.0 / (1.0 + loop::gradients::euclidean_norm({{group.gradients, 0, kElements}}));
    });
    const double step = seconds([&] { update.apply(group, hyper, /*zero=*/true); });
    if (round == 0) continue;  // warms up
    out["compile_ms"].push_back(compiling * 1e3);
    out["copy_gb"].push_back(2 * bytes / copy * 1e-9);
    out["epilogue_gb"].push_back(touched * bytes / (norm + step) * 1e-9);
    group.gradients.fill_(kHyper);
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: bench_rules PLAN ROUNDS\n", 2;
  try {
    at::set_num_threads(1);
    std::ifstream in(argv[1]);
    const loop::plan::Plan plan = loop::plan::from_json(loop::plan::json::parse(in));
    for (const loop::plan::UpdateRule& rule : plan.rules)
      std::cout << measure(rule, std::stoi(argv[2])) << '\n';
  } catch (const std::exception& error) {
    return std::cerr << "error: " << error.what() << '\n', 1;
  }
}
