#include "runtime/engine/micro_batch_choice.h"

#include <ATen/Parallel.h>
#include <torch/version.h>

#include <algorithm>
#include <fstream>

#include "loop/error.h"
#include "runtime/checkpoint/atomic_file.h"
#include "runtime/engine/step_memory.h"
#include "runtime/plan/json.h"
#include "runtime/telemetry/readable.h"

namespace loop::engine {

namespace fs = std::filesystem;

namespace {

using telemetry::readable_bytes;
using Json = nlohmann::ordered_json;

std::string counted(int64_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : what.ends_with("batch") ? "es" : "s");
}

/// Auto must not change what is trained; where it would, the spec has to say how large a micro-batch is.
void refuse_dependent_objectives(const plan::Plan& plan) {
  const auto refuse = [](const std::string& reason) {
    throw Error(ErrorKind::findings, "`micro_batch = auto` would choose the objective: " + reason,
                "write `micro_batch` as a number of samples");
  };
  if (plan.window.size.unit == plan::WindowSize::Unit::micro_batches)
    refuse("the window is counted in micro-batches");
  if (plan.batch_norm && *plan.batch_norm != plan::BatchNorm::frozen)
    refuse("BatchNorm takes its statistics from a micro-batch");
  for (const plan::CountClass& one : plan.count_classes)
    if (one.unit == plan::CountUnit::micro_batch) refuse("a loss term is counted per micro_batch");
}

/// The most samples that one rank has in a window of the first epoch; a ramp is at its end.
int64_t most_in_a_window(const Parts& parts) {
  data::WindowFormerOptions options = parts.former;
  options.micro_batch_samples = 1;
  data::WindowFormer former(options);
  const auto& ramp = parts.plan.window.size.ramp;
  int64_t most = 1;
  for (double epochs = 0; epochs < 1;) {
    const data::WindowPlan window = former.next(ramp ? ramp->over : 0);
    most = std::max(most, window.micro_batches);
    epochs = window.epochs_after;
  }
  return most;
}

void apply(Parts& parts, int64_t samples) {
  parts.plan.data.micro_batch_samples = samples;
  parts.former.micro_batch_samples = samples;
}

int64_t micro_batches(int64_t window_samples, int64_t samples) {
  return (window_samples + samples - 1) / samples;
}

/// N of the first window, in its first count class's unit.
std::string first_count(const Parts& parts) {
  data::WindowFormerOptions options = parts.former;
  options.micro_batch_samples = 1;
  const data::WindowPlan window = data::WindowFormer(options).next();
  const bool tokens =
      !parts.plan.count_classes.empty() && parts.plan.count_classes.front().unit == plan::CountUnit::tokens;
  return std::to_string(tokens ? window.tokens : window.samples) + (tokens ? " tokens" : " samples");
}

std::string reason_of(const Parts& parts, const telemetry::MicroBatchChoice& choice) {
  std::string text = counted(choice.samples, "sample") + " in a micro-batch, " +
                     counted(choice.micro_batches, "micro-batch") + " in a window: ";
  text += choice.larger_step_bytes == 0
              ? "a whole window at once takes " + readable_bytes(static_cast<double>(choice.step_bytes))
              : "a step takes " + readable_bytes(static_cast<double>(choice.step_bytes)) + ", with " +
                    counted(choice.samples + 1, "sample") + " " +
                    readable_bytes(static_cast<double>(choice.larger_step_bytes));
  text += ", and `memory` is " + readable_bytes(choice.budget_bytes);
  if (!choice.taken_from.empty()) text += " (as measured before: " + choice.taken_from + ")";
  return text + ". The window stays " + to_text(parts.plan.window.size) + ", N of the first " +
         first_count(parts) + ": the choice changes no result";
}

telemetry::MicroBatchChoice measure(Parts& parts, int64_t most) {
  StepMemory memory(parts);
  const LargestFit fit =
      largest_fit(most, parts.plan.memory_bytes, [&](int64_t samples) { return memory.step_bytes(samples); });
  telemetry::MicroBatchChoice choice;
  choice.samples = fit.chosen.samples;
  choice.step_bytes = fit.chosen.step_bytes;
  choice.larger_step_bytes = fit.larger ? fit.larger->step_bytes : 0;
  return choice;
}

/// The smallest choice of all ranks, and the most that a rank which chose it has measured for it.
void agree(const Parts& parts, telemetry::MicroBatchChoice& choice) {
  if (parts.ranks->size() == 1) return;
  const auto largest = [&](int64_t mine, const std::string& what) {
    const torch::Tensor value = torch::tensor({mine}, torch::kInt64);
    parts.ranks->all_reduce(value, distributed::Reduction::maximum, what)->wait();
    return value.item<int64_t>();
  };
  const int64_t smallest = -largest(-choice.samples, "the largest micro-batch that fits");
  const bool mine = smallest == choice.samples;
  choice.samples = smallest;
  choice.step_bytes = largest(mine ? choice.step_bytes : 0, "what its step takes");
  choice.larger_step_bytes = largest(mine ? choice.larger_step_bytes : 0, "what a larger one takes");
}

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// A file that is absent, damaged or made for something else is no choice.
std::optional<telemetry::MicroBatchChoice> read_choice(const fs::path& file, const std::string& key) {
  const Json json = Json::parse(read(file), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("key") || json["key"] != key) return std::nullopt;
  telemetry::MicroBatchChoice choice;
  const auto number = [&](const char* name) {
    const auto at = json.find(name);
    return at != json.end() && at->is_number_integer() ? at->get<int64_t>() : -1;
  };
  choice.samples = number("micro_batch_samples");
  choice.step_bytes = number("step_bytes");
  choice.larger_step_bytes = number("larger_step_bytes");
  if (choice.samples < 1 || choice.step_bytes < 0 || choice.larger_step_bytes < 0) return std::nullopt;
  choice.taken_from = file.string();
  return choice;
}

/// `records` and `key` are rank 0's.
std::optional<telemetry::MicroBatchChoice> recorded(const Parts& parts, const std::vector<fs::path>& records,
                                                    const std::string& key) {
  std::optional<telemetry::MicroBatchChoice> found;
  if (parts.ranks->rank() == 0) {
    for (const fs::path& file : records) {
      found = read_choice(file, key);
      if (found) break;
    }
  }
  if (parts.ranks->size() == 1) return found;
  const torch::Tensor told = torch::zeros({3}, torch::kInt64);
  if (found)
    told.copy_(torch::tensor({found->samples, found->step_bytes, found->larger_step_bytes}, torch::kInt64));
  parts.ranks->broadcast(told, "a recorded micro-batch");
  const int64_t* numbers = told.data_ptr<int64_t>();
  if (numbers[0] == 0) return std::nullopt;
  if (!found) found.emplace();
  found->samples = numbers[0];
  found->step_bytes = numbers[1];
  found->larger_step_bytes = numbers[2];
  return found;
}

}  // namespace

LargestFit largest_fit(int64_t most, double budget_bytes, const std::function<int64_t(int64_t)>& step_bytes) {
  LargestFit fit;
  const auto fits = [&](int64_t samples) {
    const SizeTrial trial{samples, step_bytes(samples)};
    fit.trials.push_back(trial);
    const bool small = static_cast<double>(trial.step_bytes) <= budget_bytes;
    if (small) {
      fit.chosen = trial;
    } else {
      fit.larger = trial;
    }
    return small;
  };
  if (!fits(1)) return fit;
  while (!fit.larger && fit.chosen.samples < most) fits(std::min(2 * fit.chosen.samples, most));
  while (fit.larger && fit.larger->samples - fit.chosen.samples > 1)
    fits(fit.chosen.samples + (fit.larger->samples - fit.chosen.samples) / 2);
  return fit;
}

bool micro_batch_is_open(const plan::Plan& plan) {
  return plan.data.micro_batch_auto && plan.data.micro_batch_samples == 0;
}

telemetry::MicroBatchChoice decide_micro_batch(Parts& parts, const std::vector<fs::path>& records) {
  refuse_dependent_objectives(parts.plan);
  if (!(parts.plan.memory_bytes > 0)) {
    throw Error(ErrorKind::findings, "`micro_batch = auto` has no budget", "add `memory = 2 GiB`");
  }
  const std::string key = parts.ranks->rank() == 0 ? choice_key(parts) : "";
  const int64_t most = most_in_a_window(parts);
  std::optional<telemetry::MicroBatchChoice> known = recorded(parts, records, key);
  telemetry::MicroBatchChoice choice = known ? *known : measure(parts, most);
  if (!known) agree(parts, choice);
  choice.key = key;
  choice.budget_bytes = parts.plan.memory_bytes;
  if (choice.samples < 1) {
    throw Error(ErrorKind::findings,
                "a training step with one sample in a micro-batch takes " +
                    readable_bytes(static_cast<double>(choice.larger_step_bytes)) + ", but `memory` is " +
                    readable_bytes(choice.budget_bytes),
                "raise `memory`, recompute the model's blocks, or take a smaller model or shorter samples");
  }
  apply(parts, choice.samples);
  choice.micro_batches = micro_batches(most, choice.samples);
  choice.reason = reason_of(parts, choice);
  return choice;
}

std::string choice_key(const Parts& parts) {
  // What a step executes and with what; not where it reports to, nor how long it trains.
  plan::Plan step;
  const plan::Plan& plan = parts.plan;
  step.seed = plan.seed;
  step.device = plan.device;
  step.dtype = plan.dtype;
  step.accumulate = plan.accumulate;
  step.memory_bytes = plan.memory_bytes;
  step.model = plan.model;
  step.batch_norm = plan.batch_norm;
  step.data = plan.data;
  step.data.micro_batch_samples = 0;
  step.groups = plan.groups;
  step.count_classes = plan.count_classes;
  step.terms = plan.terms;
  step.amp = plan.amp;
  step.window = plan.window;
  step.micro = plan.micro;
  step.update = plan.update;
  step.rules = plan.rules;
  step.averages = plan.averages;
  std::string text = plan::plan_hash(step);
  for (const auto& item : parts.model->named_parameters()) {
    text += "|" + item.key();
    for (const int64_t extent : item.value().sizes()) text += " " + std::to_string(extent);
  }
  int64_t positions = 0, tokens = 0, longest = 0;
  for (int64_t sample = 0; sample < parts.train().size(); ++sample) {
    positions += parts.former.positions(sample);
    tokens += parts.former.tokens(sample);
    longest = std::max(longest, parts.former.positions(sample));
  }
  for (const int64_t number : {parts.train().size(), positions, tokens, longest, parts.ranks->size(),
                               static_cast<int64_t>(at::get_num_threads())})
    text += "|" + std::to_string(number);
  text += std::string("|") + TORCH_VERSION + "|" + plan::content_hash(read("/proc/self/exe"));
  return plan::content_hash(text);
}

void write_choice(const fs::path& file, const Parts& parts, const telemetry::MicroBatchChoice& choice) {
  const Json json = {{"micro_batch_samples", choice.samples},
                     {"micro_batches", choice.micro_batches},
                     {"budget_bytes", choice.budget_bytes},
                     {"step_bytes", choice.step_bytes},
                     {"larger_step_bytes", choice.larger_step_bytes},
                     {"window", to_text(parts.plan.window.size)},
                     {"first_count", first_count(parts)},
                     {"reason", choice.reason},
                     {"taken_from", choice.taken_from},
                     {"key", choice.key}};
  const std::string text = json.dump(2) + "\n";
  checkpoint::AtomicFile out(file);
  out.write(text.data(), text.size());
  out.commit();
}

}  // namespace loop::engine
