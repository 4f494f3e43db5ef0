// The standard library's rules against PyTorch and the papers: trajectories of 100 steps in FP64, made by
// reference.py.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/unit/kernels/rules.h"

using namespace loop;
using namespace loop::kernels;
using kernels::test::Step;
using kernels::test::Tensor;

TEST_CASE("100 steps of every rule are PyTorch's or the paper's") {
  std::ifstream file(LOOP_KERNELS_REFERENCE);
  REQUIRE_MESSAGE(file, "reference.py has not been run");
  const nlohmann::json reference = nlohmann::json::parse(file);
  CHECK(reference["paths"].size() == 15);
  for (const auto& entry : reference["paths"]) {
    std::string text = entry["step"];
    CAPTURE(text);
    text.insert(text.find('(') + 1, text.ends_with("()") ? "lr: 1" : "lr: 1, ");
    Step step = kernels::test::step_of(text);
    const auto rule = CompiledRule::compile(step.rule, Element::f64);
    std::vector<Tensor<double>> tensors;
    for (const auto& start : reference["start"])
      tensors.emplace_back(start.get<std::vector<double>>(), rule->states());
    for (size_t t = 0; t < reference["rates"].size(); ++t) {
      step.hyper["lr"] = reference["rates"][t];
      step.hyper["step"] = static_cast<double>(t + 1);
      double difference = 0, size = 0;
      for (size_t k = 0; k < tensors.size(); ++k) {
        Tensor<double>& tensor = tensors[k];
        tensor.grad = reference["gradients"][t][k].get<std::vector<double>>();
        rule->update(tensor.arrays(), kernels::test::scalars(*rule, tensor, step.hyper), 1, 0,
                     static_cast<int64_t>(tensor.param.size()), true);
        const auto expected = entry["path"][t][k].get<std::vector<double>>();
        for (size_t i = 0; i < expected.size(); ++i) {
          difference += std::pow(tensor.param[i] - expected[i], 2);
          size += std::pow(expected[i], 2);
        }
      }
      REQUIRE(std::sqrt(difference / size) < 1e-10);
    }
  }
}
