// Where samples come from.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "loop/batch.h"
#include "runtime/plan/plan.h"

namespace loop {

/// What a model must know of the data. 0 means "does not apply".
struct DataInfo {
  int64_t vocabulary = 0;            // token ids are in [0, vocabulary)
  int64_t classes = 0;               // integer targets are in [0, classes); for sequences the vocabulary
  int64_t outputs = 0;               // real-valued targets per sample
  int64_t context = 0;               // longest sequence
  std::vector<int64_t> input_shape;  // without the batch dimension: {1, 28, 28}, {features}
  std::vector<std::string> class_names;  // of classes written as words in the data, by class number; else empty
  std::vector<std::string> notes;        // what was left out or cut, for a person ("12 tokens at the end …")
};

/// A finite, indexable set of samples. All members are safe to call from several threads at once after
/// construction.
class Source {
 public:
  virtual ~Source() = default;
  virtual int64_t size() const = 0;                     // samples
  virtual int64_t positions(int64_t sample) const = 0;  // elements read for this sample alone, no padding
  /// Targets of this sample that are neither padding nor equal to `ignore`; 1 for a sample with one target.
  virtual int64_t counted(int64_t sample, std::optional<int64_t> ignore) const = 0;
  /// The samples as one batch, padded to the longest of them, followed by `padding_rows` rows that do not
  /// count.
  virtual Batch collate(std::span<const int64_t> samples, int64_t padding_rows = 0) const = 0;
  virtual const DataInfo& info() const = 0;
};

struct SourceContext {
  std::filesystem::path base_dir;        // relative paths start here
  torch::Dtype dtype = torch::kFloat32;  // of real-valued inputs and targets
  int64_t context = 0;                   // the model's context, the default length of sequences; 0: none
  const Source* vocabulary_of =
      nullptr;  // a source whose tokenizer is to be used (the training source), if any
};

/// Throws loop::Error (usage) for a missing or malformed file, naming file, place and reason.
std::unique_ptr<Source> make_source(const plan::Component& component, const SourceContext& context);

}  // namespace loop
