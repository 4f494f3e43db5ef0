#include "runtime/data/tokenizer.h"

#include <algorithm>
#include <cstdio>

#include "runtime/data/file.h"

namespace loop::data {
namespace {

constexpr char32_t kLastCodePoint = 0x10FFFF;

std::string described(char32_t character, std::string_view spelling) {
  char code[16];
  std::snprintf(code, sizeof code, "U+%04X", static_cast<unsigned>(character));
  return character < 0x20 ? code : "'" + std::string(spelling) + "' (" + code + ")";
}

}  // namespace

Utf8Reader::Utf8Reader(std::string_view text, const std::filesystem::path& file, int64_t first_line)
    : text_(text), file_(file), line_(first_line) {
  if (text_.substr(0, 3) == "\xEF\xBB\xBF") next_ = 3;
}

std::string Utf8Reader::place() const {
  return "line " + std::to_string(line_) + ", column " + std::to_string(column_);
}

void Utf8Reader::malformed() const {
  char byte[8];
  std::snprintf(byte, sizeof byte, "0x%02X", static_cast<unsigned char>(text_[next_]));
  throw file_error(file_, place() + ": the byte " + byte + " does not fit into UTF-8 text",
                   "convert the file to UTF-8, or use tokenizer: byte");
}

char32_t Utf8Reader::next() {
  if (line_ended_) ++line_, column_ = 0, line_ended_ = false;
  ++column_;
  last_ = next_;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text_[i]); };
  const unsigned char lead = byte(next_);
  if (lead < 0x80) {
    ++next_;
    line_ended_ = lead == '\n';
    return lead;
  }
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || next_ + length > text_.size()) malformed();
  char32_t character = lead & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(next_ + i) & 0xC0) != 0x80) malformed();
    character = character << 6 | (byte(next_ + i) & 0x3F);
  }
  const char32_t smallest = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  if (character < smallest || character > kLastCodePoint || (character >= 0xD800 && character <= 0xDFFF))
    malformed();
  next_ += length;
  return character;
}

Tokenizer Tokenizer::bytes() {
  return {};
}

Tokenizer Tokenizer::characters(std::span<const std::string_view> parts, const std::filesystem::path& file) {
  std::vector<bool> occurs(kLastCodePoint + 1, false);
  char32_t last = 0;
  for (size_t part = 0; part < parts.size(); ++part) {
    for (Utf8Reader reader(parts[part], file, static_cast<int64_t>(part) + 1); !reader.at_end();) {
      const char32_t character = reader.next();
      occurs[character] = true;
      last = std::max(last, character);
    }
  }
  Tokenizer tokenizer;
  tokenizer.kind_ = Kind::character;
  tokenizer.vocabulary_ = 0;
  tokenizer.id_of_.assign(last + 1, -1);
  for (char32_t character = 0; character <= last; ++character) {
    if (occurs[character]) tokenizer.id_of_[character] = static_cast<int32_t>(tokenizer.vocabulary_++);
  }
  return tokenizer;
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, const std::filesystem::path& file,
                                       int64_t first_line) const {
  std::vector<int32_t> ids;
  ids.reserve(text.size());
  if (kind_ == Kind::byte) {
    for (char byte : text) ids.push_back(static_cast<unsigned char>(byte));
    return ids;
  }
  for (Utf8Reader reader(text, file, first_line); !reader.at_end();) {
    const char32_t character = reader.next();
    const int32_t id = character < id_of_.size() ? id_of_[character] : -1;
    if (id < 0) {
      throw file_error(file,
                       reader.place() + ": the character " + described(character, reader.spelling()) +
                           " does not occur in the training source",
                       "train on text that has it, remove it here, or use tokenizer: byte");
    }
    ids.push_back(id);
  }
  return ids;
}

}  // namespace loop::data
