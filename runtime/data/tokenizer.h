// Text to token ids: one per byte, or one per character.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loop::data {

/// Goes over UTF-8 text character by character, knowing where it stands. A byte order mark at the beginning
/// is passed over.
class Utf8Reader {
 public:
  Utf8Reader(std::string_view text, const std::filesystem::path& file, int64_t first_line = 1);
  bool at_end() const { return next_ == text_.size(); }
  /// The next code point. Throws loop::Error (usage) with line and column if the bytes are not UTF-8
  /// (overlong forms and surrogates are not).
  char32_t next();
  /// "line 3, column 14" of the code point read last; both count from 1, columns in characters.
  std::string place() const;
  /// Its bytes.
  std::string_view spelling() const { return text_.substr(last_, next_ - last_); }

 private:
  [[noreturn]] void malformed() const;

  std::string_view text_;
  const std::filesystem::path& file_;
  size_t next_ = 0;
  size_t last_ = 0;
  int64_t line_;
  int64_t column_ = 0;
  bool line_ended_ = false;
};

class Tokenizer {
 public:
  enum class Kind { byte, character };
  /// Ids are the bytes' values, the vocabulary is 256.
  static Tokenizer bytes();
  /// Ids number the code points that occur in `parts`, in ascending order. Part i begins at line i + 1 of the
  /// file: the whole text as one part, or its lines without their ends. Throws as Utf8Reader.
  static Tokenizer characters(std::span<const std::string_view> parts, const std::filesystem::path& file);

  Kind kind() const { return kind_; }
  int64_t vocabulary() const { return vocabulary_; }
  /// Throws loop::Error (usage) for text that is not UTF-8 or has a character that is not in the vocabulary,
  /// with its place.
  std::vector<int32_t> encode(std::string_view text, const std::filesystem::path& file,
                              int64_t first_line = 1) const;

 private:
  Kind kind_ = Kind::byte;
  int64_t vocabulary_ = 256;
  std::vector<int32_t> id_of_;  // by code point, -1 where there is none
};

}  // namespace loop::data
