#include <algorithm>

#include "runtime/data/file.h"
#include "runtime/data/sequence_source.h"
#include "runtime/data/sources.h"

namespace loop::data {
namespace {

// Without their ends, "\n" or "\r\n".
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

class LinesSource final : public SequenceSource {
 public:
  LinesSource(const plan::Component& component, const SourceContext& context) {
    Arguments arguments(component);
    const auto file = resolved(context.base_dir, arguments.text("path"));
    const std::string kind = arguments.choice("tokenizer", {"char", "byte"}, "");
    const bool cut = arguments.choice("long", {"error", "cut"}, "error") == "cut";
    const Slice slice = arguments.slice("take");
    const int64_t limit = arguments.integer("length", 1, "context").value_or(context.context);
    arguments.refuse_others();

    const std::string text = read_file(file);
    const std::vector<std::string_view> lines = lines_of(text);
    tokenizer_ = tokenizer_for(kind, lines, file, context);
    add(lines, file, limit, cut);
    const Bounds part = take(slice, {file, size(), "lines of two tokens or more"});
    samples_ = {samples_.begin() + part.begin, samples_.begin() + part.end};

    info_.vocabulary = info_.classes = tokenizer_->vocabulary();
    for (int64_t i = 0; i < size(); ++i) info_.context = std::max(info_.context, positions(i));
    info_.input_shape = {info_.context};
  }

  int64_t size() const override { return static_cast<int64_t>(samples_.size()); }
  int64_t positions(int64_t sample) const override { return samples_[sample].positions; }

 private:
  struct Sample {
    int64_t begin;
    int64_t positions;  // one less than its tokens
  };

  void add(const std::vector<std::string_view>& lines, const std::filesystem::path& file, int64_t limit,
           bool cut) {
    int64_t shortened = 0;
    int64_t single = 0;
    for (size_t i = 0; i < lines.size(); ++i) {
      const int64_t number = static_cast<int64_t>(i) + 1;
      const std::vector<int32_t> ids = tokenizer_->encode(lines[i], file, number);
      int64_t positions = static_cast<int64_t>(ids.size()) - 1;
      if (positions == 0) ++single;
      if (positions <= 0) continue;
      if (limit > 0 && positions > limit) {
        if (!cut) {
          throw file_error(file,
                           "line " + std::to_string(number) + ": " + std::to_string(ids.size()) +
                               " tokens, one more than its positions, are too long for a sequence of " +
                               std::to_string(limit) + " positions",
                           "break the line, give long: cut to keep its beginning, or use a longer context");
        }
        positions = limit;
        ++shortened;
      }
      samples_.push_back({static_cast<int64_t>(ids_.size()), positions});
      ids_.insert(ids_.end(), ids.begin(), ids.begin() + positions + 1);
    }
    const auto note = [&](int64_t count, const std::string& what) {
      if (count > 0) info_.notes.push_back(file.string() + ": " + std::to_string(count) + what);
    };
    note(shortened, " lines are cut to " + std::to_string(limit) + " positions");
    note(single, " lines of one token have nothing to predict and are left out");
  }

  void read(int64_t sample, int64_t* tokens) const override {
    std::copy_n(ids_.begin() + samples_[sample].begin, samples_[sample].positions + 1, tokens);
  }
  int64_t empty_row_positions() const override { return 1; }

  std::vector<int32_t> ids_;
  std::vector<Sample> samples_;
};

}  // namespace

std::unique_ptr<Source> make_lines(const plan::Component& component, const SourceContext& context) {
  return std::make_unique<LinesSource>(component, context);
}

}  // namespace loop::data
