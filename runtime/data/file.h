// Data files: read whole (gzip undone) or mapped into memory. Every failure names the file and what the
// system said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "loop/error.h"

namespace loop::data {

/// `path` as the run sees it: relative paths start at `base_dir`.
std::filesystem::path resolved(const std::filesystem::path& base_dir, const std::string& path);

/// A mistake in a data file: "FILE: what".
Error file_error(const std::filesystem::path& file, const std::string& what, const std::string& repair);

/// The whole file; a gzip file (by its first two bytes) decompressed. Throws loop::Error (usage) for a file
/// that is missing, a folder, unreadable, empty, or a gzip file that is cut off or damaged.
std::string read_file(const std::filesystem::path& file);

/// A file mapped for reading, as long as the object lives. Throws loop::Error (usage) as read_file.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace loop::data
