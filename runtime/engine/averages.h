// Exponential moving averages of the parameters: a <- decay·a + (1 - decay)·θ after each applied update.
#pragma once

#include <string>
#include <vector>

#include "loop/model.h"
#include "runtime/gradients/parameters.h"
#include "runtime/plan/plan.h"

namespace loop::engine {

class Averages {
 public:
  /// Every average begins as a copy of the parameters.
  Averages(const std::vector<plan::Average>& averages, Model& model, gradients::Parameters& parameters);

  bool empty() const { return entries_.empty(); }
  /// The averages' own copies of buffers.
  std::vector<torch::Tensor> buffers() const;
  /// One tick of one average, its decay read with `lookup`. Throws loop::Error (findings) for an unknown name
  /// and (training) for a decay outside [0, 1].
  void update(const std::string& name, const plan::Lookup& lookup);

  /// While it lives, the model's parameters (and buffers, if the average has them) are the average's;
  /// afterwards they are bitwise what they were. "model" changes nothing.
  class Swap {
   public:
    Swap(Averages& averages, const std::string& name);
    ~Swap();
    Swap(const Swap&) = delete;
    Swap& operator=(const Swap&) = delete;

   private:
    std::vector<std::pair<torch::Tensor, torch::Tensor>> originals_;  // place, its content before
  };

 private:
  struct Entry {
    plan::Average average;
    std::vector<std::pair<torch::Tensor, torch::Tensor>> values;  // place in the model, its average
    size_t first_buffer = 0;  // index into `values`; parameters come first
  };
  Entry& find(const std::string& name);
  std::vector<Entry> entries_;
};

}  // namespace loop::engine
