#include "runtime/checkpoint/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "loop/error.h"

namespace loop::checkpoint {

AtomicFile::AtomicFile(std::filesystem::path file) : file_(std::move(file)), temporary_(file_) {
  temporary_ += ".tmp" + std::to_string(getpid());
  descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail("cannot create");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* what) const {
  throw Error(ErrorKind::usage, std::string(what) + " " + file_.string() + ": " + std::strerror(errno),
              "check the folder's permissions and the space on the disk");
}

void AtomicFile::write(const void* bytes, size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::write(descriptor_, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write");
    at += written;
    size -= static_cast<size_t>(written);
  }
}

void AtomicFile::commit() {
  if (fsync(descriptor_) != 0) fail("cannot write");
  if (std::rename(temporary_.c_str(), file_.c_str()) != 0) fail("cannot name");
  close(descriptor_);
  descriptor_ = -1;
  // The new name itself must survive a power cut, too.
  const std::filesystem::path folder = file_.has_parent_path() ? file_.parent_path() : ".";
  const int directory = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    fsync(directory);
    close(directory);
  }
}

}  // namespace loop::checkpoint
