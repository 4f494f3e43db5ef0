// A file that is either complete or absent.
#pragma once

#include <cstddef>
#include <filesystem>

namespace loop::checkpoint {

/// Written under a temporary name in the same folder; commit() makes it visible. Without it the temporary
/// file is removed. Every member throws loop::Error (usage) with the system's reason when the file cannot be
/// written.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path file);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* bytes, size_t size);
  /// Waits until the content is on disk, then renames; replaces a file of that name.
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;
  std::filesystem::path file_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

}  // namespace loop::checkpoint
