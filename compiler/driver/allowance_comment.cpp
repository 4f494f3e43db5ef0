#include "compiler/driver/allowance_comment.h"

#include <cctype>

namespace loop::driver {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<AllowanceComment> read() {
    skip('#');
    blanks();
    if (word() != "loop") return std::nullopt;
    blanks();
    if (!skip(':')) return std::nullopt;
    blanks();
    const std::string verb = word();
    blanks();
    if (verb.empty() || (next() != '(' && verb.rfind("allow", 0) != 0)) return std::nullopt;
    AllowanceComment comment;
    comment.whole_file = verb == "allow-file";
    if (verb != "allow" && verb != "allow-file") {
      comment.fault = "`" + verb + "` is neither `allow` nor `allow-file`";
    } else {
      comment.fault = arguments(comment);
    }
    return comment;
  }

 private:
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool skip(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }
  void blanks() {
    while (next() == ' ' || next() == '\t') ++at_;
  }
  std::string word() {
    const size_t begin = at_;
    while (std::isalnum(static_cast<unsigned char>(next())) != 0 || next() == '-' || next() == '_') ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  /// What is wrong with them, or nothing.
  std::string arguments(AllowanceComment& comment) {
    if (!skip('(')) return "`(` is missing";
    blanks();
    while (next() != ')') {
      const auto begin = static_cast<uint32_t>(at_);
      const std::string name = word();
      blanks();
      if (name.empty()) {
        return at_ == text_.size() ? "`)` is missing" : "a code, a name or `reason: \"…\"` is expected";
      }
      if (name == "reason" && (skip(':') || skip('='))) {
        if (comment.reason) return "it gives two reasons";
        blanks();
        comment.reason = quoted();
        if (!comment.reason) return "the reason is a text in `\"`";
      } else {
        comment.names.push_back({name, begin});
      }
      blanks();
      if (!skip(',') && next() != ')')
        return at_ == text_.size() ? "`)` is missing" : "`,` or `)` is expected";
      blanks();
    }
    ++at_;
    blanks();
    if (at_ < text_.size() && next() != '#') return "after `)` only a further comment may stand";
    if (comment.names.empty()) return "it names no finding";
    return "";
  }

  std::optional<std::string> quoted() {
    if (!skip('"')) return std::nullopt;
    std::string value;
    while (at_ < text_.size() && next() != '"') {
      if (next() == '\\' && at_ + 1 < text_.size()) ++at_;
      value += text_[at_++];
    }
    return skip('"') ? std::optional(value) : std::nullopt;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::optional<AllowanceComment> read_allowance_comment(std::string_view comment) {
  return Reader(comment).read();
}

}  // namespace loop::driver
