#include "runtime/engine/averages.h"

#include "loop/error.h"

namespace loop::engine {

Averages::Averages(const std::vector<plan::Average>& averages, Model& model,
                   gradients::Parameters& parameters) {
  const torch::NoGradGuard no_grad;
  for (const plan::Average& average : averages) {
    Entry entry{average, {}, 0};
    for (const gradients::ParameterGroup& group : parameters.groups()) {
      entry.values.emplace_back(group.parameters, group.parameters.clone());
    }
    entry.first_buffer = entry.values.size();
    if (average.buffers) {
      for (const torch::Tensor& buffer : model.buffers()) entry.values.emplace_back(buffer, buffer.clone());
    }
    entries_.push_back(std::move(entry));
  }
}

std::vector<torch::Tensor> Averages::buffers() const {
  std::vector<torch::Tensor> all;
  for (const Entry& entry : entries_) {
    for (size_t i = entry.first_buffer; i < entry.values.size(); ++i) all.push_back(entry.values[i].second);
  }
  return all;
}

Averages::Entry& Averages::find(const std::string& name) {
  for (Entry& entry : entries_) {
    if (entry.average.name == name) return entry;
  }
  throw Error(ErrorKind::findings, "there is no average named '" + name + "'",
              "add `average " + name + " = ema(…)`");
}

void Averages::update(const std::string& name, const plan::Lookup& lookup) {
  const torch::NoGradGuard no_grad;
  Entry& entry = find(name);
  const std::optional<double> decay = plan::evaluate(entry.average.decay, lookup);
  if (!decay || !(*decay >= 0 && *decay <= 1)) {
    throw Error(ErrorKind::training,
                "the decay of average '" + name + "', " + plan::to_text(entry.average.decay) + ", is " +
                    (decay ? std::to_string(*decay) : "not known"),
                "a decay lies between 0 and 1");
  }
  for (auto& [place, value] : entry.values) {
    if (value.is_floating_point()) {
      value.mul_(*decay).add_(place, 1 - *decay);
    } else {
      value.copy_(place);  // counters are not averaged
    }
  }
}

Averages::Swap::Swap(Averages& averages, const std::string& name) {
  if (name == "model") return;
  const torch::NoGradGuard no_grad;
  for (auto& [place, value] : averages.find(name).values) {
    originals_.emplace_back(place, place.clone());
    place.copy_(value);
  }
}

Averages::Swap::~Swap() {
  const torch::NoGradGuard no_grad;
  for (auto& [place, content] : originals_) place.copy_(content);
}

}  // namespace loop::engine
