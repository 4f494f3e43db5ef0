#include "compiler/base/source.h"

#include <algorithm>
#include <stdexcept>

namespace loop::base {

Span join(Span a, Span b) {
  if (!a) return b;
  if (!b || !(a.file == b.file)) return a;
  return {a.file, std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

SourceFile::SourceFile(std::string path, std::string text) : path_(std::move(path)), text_(std::move(text)) {
  line_starts_.push_back(0);
  for (uint32_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }
}

Position SourceFile::position(uint32_t offset) const {
  offset = std::min<uint32_t>(offset, static_cast<uint32_t>(text_.size()));
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const auto line = static_cast<uint32_t>(after - line_starts_.begin());
  uint32_t column = 1;
  for (uint32_t i = line_starts_[line - 1]; i < offset; ++i) {
    const bool continuation_byte = (static_cast<unsigned char>(text_[i]) & 0xC0U) == 0x80U;
    if (!continuation_byte) ++column;
  }
  return {line, column};
}

std::string_view SourceFile::line(uint32_t line) const {
  if (line < 1 || line > line_starts_.size()) return {};
  const uint32_t begin = line_starts_[line - 1];
  uint32_t end = line < line_starts_.size() ? line_starts_[line] - 1 : static_cast<uint32_t>(text_.size());
  if (end > begin && text_[end - 1] == '\r') --end;
  return std::string_view(text_).substr(begin, end - begin);
}

FileId SourceManager::add(std::string path, std::string text) {
  files_.emplace_back(std::move(path), std::move(text));
  return {static_cast<uint32_t>(files_.size())};
}

const SourceFile& SourceManager::file(FileId id) const {
  if (!contains(id)) throw std::out_of_range("SourceManager: unknown file");
  return files_[id.value - 1];
}

std::string_view SourceManager::text(Span span) const {
  if (!contains(span.file)) return {};
  const std::string& text = file(span.file).text();
  const auto begin = std::min<size_t>(span.begin, text.size());
  const auto end = std::clamp<size_t>(span.end, begin, text.size());
  return std::string_view(text).substr(begin, end - begin);
}

}  // namespace loop::base
