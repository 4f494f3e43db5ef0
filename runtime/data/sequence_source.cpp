#include "runtime/data/sequence_source.h"

#include <algorithm>

#include "loop/error.h"

namespace loop::data {

int64_t SequenceSource::counted(int64_t sample, std::optional<int64_t> ignore) const {
  const int64_t n = positions(sample);
  if (!ignore || *ignore < 0 || *ignore >= info_.vocabulary) return n;
  std::vector<int64_t> tokens(n + 1);
  read(sample, tokens.data());
  return n - std::count(tokens.begin() + 1, tokens.end(), *ignore);
}

Batch SequenceSource::collate(std::span<const int64_t> samples, int64_t padding_rows) const {
  const int64_t counting = static_cast<int64_t>(samples.size());
  const int64_t rows = counting + padding_rows;
  int64_t longest = samples.empty() ? empty_row_positions() : 0;
  for (int64_t sample : samples) longest = std::max(longest, positions(sample));

  Batch batch;
  batch.inputs = torch::zeros({rows, longest}, torch::kLong);
  batch.targets = torch::full({rows, longest}, kPaddingTarget, torch::kLong);
  auto* inputs = batch.inputs.mutable_data_ptr<int64_t>();
  auto* targets = batch.targets.mutable_data_ptr<int64_t>();
  std::vector<int64_t> tokens(longest + 1);
  for (int64_t row = 0; row < counting; ++row) {
    const int64_t n = positions(samples[row]);
    read(samples[row], tokens.data());
    std::copy_n(tokens.begin(), n, inputs + row * longest);
    std::copy_n(tokens.begin() + 1, n, targets + row * longest);
  }
  if (padding_rows > 0) {
    batch.valid = torch::zeros({rows}, torch::kBool);
    std::fill_n(batch.valid.mutable_data_ptr<bool>(), counting, true);
  }
  batch.samples = counting;
  batch.positions = rows * longest;
  batch.sample_ids.assign(samples.begin(), samples.end());
  return batch;
}

std::shared_ptr<const Tokenizer> tokenizer_for(const std::string& kind,
                                               std::span<const std::string_view> parts,
                                               const std::filesystem::path& file,
                                               const SourceContext& context) {
  const auto wanted = kind == "byte" ? Tokenizer::Kind::byte : Tokenizer::Kind::character;
  if (context.vocabulary_of) {
    const auto* training = dynamic_cast<const SequenceSource*>(context.vocabulary_of);
    if (!training || !training->tokenizer() || training->tokenizer()->kind() != wanted) {
      throw Error(ErrorKind::findings,
                  file.string() + ": its tokenizer (" + kind + ") is not the one of the training source",
                  "use the same kind of source and tokenizer for both");
    }
    return training->tokenizer();
  }
  if (wanted == Tokenizer::Kind::byte) return std::make_shared<Tokenizer>(Tokenizer::bytes());
  return std::make_shared<Tokenizer>(Tokenizer::characters(parts, file));
}

int64_t sequence_length(Arguments& arguments, const std::string& component, const SourceContext& context) {
  if (const auto given = arguments.integer("length", 1, "context")) return *given;
  if (context.context > 0) return context.context;
  throw Error(ErrorKind::findings,
              component + "(…): the length of a sequence is not known: the model has no context",
              "give `length`, for example length: 64");
}

Sequences cut_sequences(const Slice& slice, const std::filesystem::path& file, int64_t tokens,
                        const std::string& unit, int64_t length, DataInfo& info) {
  // The last token of a part is only ever a target.
  const Bounds part = take(slice, {file, tokens, unit, length, 1});
  const int64_t rest = (part.size() - 1) % length;
  if (rest > 0) {
    info.notes.push_back(file.string() + ": the last " + std::to_string(rest) + " " + unit + " of " +
                         slice.text() + " do not fill a sequence of " + std::to_string(length) +
                         " and are left out");
  }
  info.context = length;
  info.input_shape = {length};
  return {part.begin, (part.size() - 1) / length};
}

}  // namespace loop::data
