#include <glob.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/data/file.h"
#include "runtime/data/sequence_source.h"
#include "runtime/data/sources.h"

namespace loop::data {
namespace {

static_assert(std::endian::native == std::endian::little,
              "token files are little-endian and are mapped as they are");

constexpr int64_t kTokenBytes = 2;

// The files that a path with `*`, `?` or `[…]` names, in the order of their names; a plain path names itself.
std::vector<std::string> files_of(const std::filesystem::path& pattern) {
  glob_t found{};
  const int code = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> files(found.gl_pathv, found.gl_pathv + (code == 0 ? found.gl_pathc : 0));
  ::globfree(&found);
  if (files.empty()) {
    throw file_error(pattern, "there is no such file",
                     "put it there, or correct the path; paths start at the spec's folder");
  }
  std::sort(files.begin(), files.end());
  return files;
}

class BinSource final : public SequenceSource {
 public:
  BinSource(const plan::Component& component, const SourceContext& context) {
    Arguments arguments(component);
    const auto pattern = resolved(context.base_dir, arguments.text("path"));
    const auto vocabulary = arguments.integer("vocabulary", 1, "none");
    const Slice slice = arguments.slice("take");
    length_ = sequence_length(arguments, component.name, context);
    arguments.refuse_others();

    int64_t tokens = 0;
    for (const std::string& file : files_of(pattern)) tokens += add(file);
    set_vocabulary(vocabulary, context);
    const Sequences sequences = cut_sequences(slice, pattern, tokens, "tokens", length_, info_);
    first_ = sequences.begin;
    size_ = sequences.size;
    info_.classes = info_.vocabulary;
  }

  int64_t size() const override { return size_; }
  int64_t positions(int64_t) const override { return length_; }

 private:
  struct Shard {
    std::unique_ptr<MappedFile> file;
    int64_t begin;  // of its first token in the stream
    int64_t end;
    uint16_t token(int64_t at) const {
      uint16_t value;
      std::memcpy(&value, file->bytes().data() + (at - begin) * kTokenBytes, kTokenBytes);
      return value;
    }
  };

  int64_t add(const std::string& path) {
    auto file = std::make_unique<MappedFile>(path);
    const auto bytes = static_cast<int64_t>(file->bytes().size());
    if (bytes % kTokenBytes != 0) {
      throw file_error(path, std::to_string(bytes) + " bytes are not a whole number of 16-bit tokens",
                       "copy the file again, or write tokens as unsigned 16-bit numbers");
    }
    const int64_t begin = shards_.empty() ? 0 : shards_.back().end;
    shards_.push_back({std::move(file), begin, begin + bytes / kTokenBytes});
    return bytes / kTokenBytes;
  }

  // Reads every token once: a token outside the vocabulary must not end a run hours after its start.
  void set_vocabulary(std::optional<int64_t> given, const SourceContext& context) {
    if (!given && context.vocabulary_of) given = context.vocabulary_of->info().vocabulary;
    int64_t largest = 0;
    for (const Shard& shard : shards_) {
      for (int64_t at = shard.begin; at < shard.end; ++at) {
        const int64_t token = shard.token(at);
        largest = std::max(largest, token);
        if (given && token >= *given) {
          throw file_error(shard.file->path(),
                           "token " + std::to_string(at - shard.begin) + " is " + std::to_string(token) +
                               ", outside the vocabulary of " + std::to_string(*given),
                           "give the vocabulary of the tokenizer that wrote the file");
        }
      }
    }
    info_.vocabulary = given.value_or(largest + 1);
  }

  void read(int64_t sample, int64_t* tokens) const override {
    const int64_t begin = first_ + sample * length_;
    auto shard = std::upper_bound(shards_.begin(), shards_.end(), begin,
                                  [](int64_t at, const Shard& candidate) { return at < candidate.end; });
    for (int64_t at = begin; at <= begin + length_; ++at) {
      if (at == shard->end) ++shard;
      *tokens++ = shard->token(at);
    }
  }
  int64_t empty_row_positions() const override { return length_; }

  std::vector<Shard> shards_;
  int64_t first_ = 0;
  int64_t length_ = 0;
  int64_t size_ = 0;
};

}  // namespace

std::unique_ptr<Source> make_bin(const plan::Component& component, const SourceContext& context) {
  return std::make_unique<BinSource>(component, context);
}

}  // namespace loop::data
