#include <algorithm>

#include "runtime/data/file.h"
#include "runtime/data/sequence_source.h"
#include "runtime/data/sources.h"

namespace loop::data {
namespace {

class TextSource final : public SequenceSource {
 public:
  TextSource(const plan::Component& component, const SourceContext& context) {
    Arguments arguments(component);
    const auto file = resolved(context.base_dir, arguments.text("path"));
    const std::string kind = arguments.choice("tokenizer", {"char", "byte"}, "");
    const Slice slice = arguments.slice("take");
    length_ = sequence_length(arguments, component.name, context);
    arguments.refuse_others();

    const std::string text = read_file(file);
    const std::string_view whole[] = {text};
    tokenizer_ = tokenizer_for(kind, whole, file, context);
    ids_ = tokenizer_->encode(text, file);
    const Sequences sequences = cut_sequences(slice, file, static_cast<int64_t>(ids_.size()),
                                              kind == "byte" ? "bytes" : "characters", length_, info_);
    size_ = sequences.size;
    ids_ = {ids_.begin() + sequences.begin, ids_.begin() + sequences.begin + size_ * length_ + 1};
    info_.vocabulary = info_.classes = tokenizer_->vocabulary();
  }

  int64_t size() const override { return size_; }
  int64_t positions(int64_t) const override { return length_; }

 private:
  void read(int64_t sample, int64_t* tokens) const override {
    std::copy_n(ids_.begin() + sample * length_, length_ + 1, tokens);
  }
  int64_t empty_row_positions() const override { return length_; }

  std::vector<int32_t> ids_;
  int64_t length_ = 0;
  int64_t size_ = 0;
};

}  // namespace

std::unique_ptr<Source> make_text(const plan::Component& component, const SourceContext& context) {
  return std::make_unique<TextSource>(component, context);
}

}  // namespace loop::data
