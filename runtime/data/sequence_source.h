// What all sources of token sequences share: the target of a token is the next one, rows are padded at their
// end.
#pragma once

#include <memory>

#include "loop/source.h"
#include "runtime/data/arguments.h"
#include "runtime/data/tokenizer.h"

namespace loop::data {

/// A sample of `n` positions is n + 1 tokens t_0 … t_n in a row: inputs are t_0 … t_(n-1), targets t_1 … t_n.
/// Batches are inputs and targets [b, L] int64 with L the longest sample's positions; shorter rows end in
/// inputs 0 and targets -100.
class SequenceSource : public Source {
 public:
  int64_t counted(int64_t sample, std::optional<int64_t> ignore) const final;
  Batch collate(std::span<const int64_t> samples, int64_t padding_rows) const final;
  const DataInfo& info() const final { return info_; }
  /// Null where the file holds token ids.
  const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }

 protected:
  /// Writes the sample's positions(sample) + 1 tokens.
  virtual void read(int64_t sample, int64_t* tokens) const = 0;
  /// Positions of a row that has no sample to be as long as.
  virtual int64_t empty_row_positions() const = 0;

  DataInfo info_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

/// The tokenizer of `kind` (char or byte) for a file that holds `parts` (see Tokenizer::characters): the
/// training source's if there is one. Throws loop::Error: usage for text that is not UTF-8, findings for a
/// training source with another kind of tokenizer.
std::shared_ptr<const Tokenizer> tokenizer_for(const std::string& kind,
                                               std::span<const std::string_view> parts,
                                               const std::filesystem::path& file,
                                               const SourceContext& context);

/// The argument `length`, or the model's context; throws loop::Error (findings) when there is neither.
int64_t sequence_length(Arguments& arguments, const std::string& component, const SourceContext& context);

/// Tokens of a stream and the samples in them; a remainder too short for a sample is noted in `info`.
struct Sequences {
  int64_t begin = 0;  // first token
  int64_t size = 0;   // samples
};
/// Throws loop::Error (usage) when the part holds no sample. `unit` is what a token is: "characters".
Sequences cut_sequences(const Slice& slice, const std::filesystem::path& file, int64_t tokens,
                        const std::string& unit, int64_t length, DataInfo& info);

}  // namespace loop::data
