// A tiny model and data in memory, a run that can be watched, and the reference: one big batch, written out
// with plain tensor operations.
#pragma once

#include <torch/torch.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plan_builder.h"
#include "runtime/engine/trainer.h"

namespace loop::testing {

constexpr int64_t kVocabulary = 5;
constexpr int64_t kWidth = 3;

/// Sequences with targets; kPaddingTarget marks a position that does not count.
struct Sequence {
  std::vector<int64_t> inputs;
  std::vector<int64_t> targets;
};

class MemorySource : public Source {
 public:
  explicit MemorySource(std::vector<Sequence> sequences);
  int64_t size() const override { return static_cast<int64_t>(sequences_.size()); }
  int64_t positions(int64_t sample) const override;
  int64_t counted(int64_t sample, std::optional<int64_t> ignore) const override;
  Batch collate(std::span<const int64_t> samples, int64_t padding_rows) const override;
  const DataInfo& info() const override { return info_; }
  const std::vector<Sequence>& sequences() const { return sequences_; }

 private:
  std::vector<Sequence> sequences_;
  DataInfo info_;
};

/// One sequence per entry, with that many counted targets among `length` positions. Tokens are drawn with
/// `seed`.
std::vector<Sequence> sequences(const std::vector<int64_t>& counted, uint64_t seed = 1,
                                int64_t extra_positions = 1);

/// Everything a run reports.
class Recorder : public telemetry::Sink {
 public:
  void update(const telemetry::UpdateRecord& record) override {
    all.push_back(record);
    if (record.line) updates.push_back(record);
  }
  void evaluation(const telemetry::EvaluationRecord& record) override { evaluations.push_back(record); }
  std::vector<telemetry::UpdateRecord> all;      // every window
  std::vector<telemetry::UpdateRecord> updates;  // those that are lines
  std::vector<telemetry::EvaluationRecord> evaluations;
};

/// A plan's run over sequences in memory, with the gradient and the parameters of every window kept.
class TinyRun {
 public:
  explicit TinyRun(plan::Plan plan, std::vector<Sequence> train,
                   std::map<std::string, std::vector<Sequence>> others = {});
  TinyRun(plan::Plan plan, engine::Sources sources,
          std::shared_ptr<distributed::Communicator> ranks = distributed::alone());
  engine::Ending run(const std::function<bool()>& interrupted = [] { return false; });

  engine::Parts parts;
  Recorder recorder;
  std::unique_ptr<engine::Trainer> trainer;
  std::vector<torch::Tensor> gradients;   // before the update operations, as accumulated
  std::vector<torch::Tensor> parameters;  // [0] at the start, then after every window that reached its update
  torch::Tensor now() const { return parts.parameters->flat_parameters(); }
};

/// The reference's parameters, in the order of the flat arena: embedding [V, W], weight [V, W], bias [V].
struct Reference {
  torch::Tensor embedding, weight, bias;
  explicit Reference(const torch::Tensor& flat);
  torch::Tensor flat() const;
  /// Logits of every counted position of the sequences, [n, V], and their targets [n].
  std::pair<torch::Tensor, torch::Tensor> counted_logits(const std::vector<Sequence>& batch) const;
  /// The mean cross entropy over all counted positions.
  torch::Tensor mean_loss(const std::vector<Sequence>& batch, double label_smoothing = 0) const;
  /// d loss / d parameters, flat.
  torch::Tensor gradient(const torch::Tensor& loss) const;
};

/// ‖a - b‖ / ‖b‖.
double distance(const torch::Tensor& a, const torch::Tensor& b);

/// sequences[first .. last)
std::vector<Sequence> slice(const std::vector<Sequence>& all, int64_t first, int64_t last);

}  // namespace loop::testing
