// Source texts and places in them.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace loop::base {

/// Names one text held by a SourceManager. 0 is "no file" (overrides from the command line have a file of
/// their own).
struct FileId {
  uint32_t value = 0;
  friend bool operator==(FileId, FileId) = default;
  explicit operator bool() const { return value != 0; }
};

/// A half-open range of bytes [begin, end) of one text.
struct Span {
  FileId file;
  uint32_t begin = 0;
  uint32_t end = 0;
  friend bool operator==(const Span&, const Span&) = default;
  explicit operator bool() const { return static_cast<bool>(file); }
};

/// The smallest span that covers both; `a` alone when they are in different files.
Span join(Span a, Span b);

/// 1-based line and 1-based column; the column counts code points, not bytes.
struct Position {
  uint32_t line = 1;
  uint32_t column = 1;
};

/// One text with its line starts. `path` is as the user wrote it (relative paths stay relative).
class SourceFile {
 public:
  SourceFile(std::string path, std::string text);
  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }
  /// Place of a byte offset; an offset past the end gives the end.
  Position position(uint32_t offset) const;
  /// The line's text without its newline. `line` is 1-based; an unknown line gives an empty view.
  std::string_view line(uint32_t line) const;
  uint32_t line_count() const { return static_cast<uint32_t>(line_starts_.size()); }

 private:
  std::string path_;
  std::string text_;
  std::vector<uint32_t> line_starts_;
};

/// Owns every text of a compilation. References stay valid while the manager lives.
class SourceManager {
 public:
  FileId add(std::string path, std::string text);
  const SourceFile& file(FileId id) const;
  bool contains(FileId id) const { return id.value >= 1 && id.value <= files_.size(); }
  /// The bytes a span covers.
  std::string_view text(Span span) const;

 private:
  std::deque<SourceFile> files_;
};

}  // namespace loop::base
