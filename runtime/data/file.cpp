#include "runtime/data/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace loop::data {
namespace {

// An open file that is known to be a regular one with something in it.
class Descriptor {
 public:
  explicit Descriptor(const std::filesystem::path& file) : fd_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0 && errno == ENOENT) {
      throw file_error(file, "there is no such file",
                       "put it there, or correct the path; paths start at the spec's folder");
    }
    if (fd_ < 0)
      throw file_error(file, std::string("cannot be opened: ") + std::strerror(errno), "make it readable");
    struct stat status {};
    const bool known = ::fstat(fd_, &status) == 0;
    if (!known || !S_ISREG(status.st_mode) || status.st_size == 0) {
      ::close(fd_);
      if (known && S_ISREG(status.st_mode))
        throw file_error(file, "is empty", "the download or copy may have failed");
      throw file_error(file, "is not a file", "name a data file, not a folder");
    }
    size_ = static_cast<size_t>(status.st_size);
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  size_t size() const { return size_; }

 private:
  int fd_;
  size_t size_ = 0;
};

std::string read_gzip(const std::filesystem::path& file, Descriptor& descriptor) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> stream(gzdopen(descriptor.release(), "rb"), gzclose);
  if (!stream) throw file_error(file, "cannot be decompressed: out of memory", "free some memory");
  gzbuffer(stream.get(), 1 << 18);
  std::string bytes;
  std::string chunk(size_t{1} << 22, '\0');
  for (;;) {
    const int count = gzread(stream.get(), chunk.data(), static_cast<unsigned>(chunk.size()));
    int code = Z_OK;
    const std::string message = gzerror(stream.get(), &code);
    // A stream cut off gives what there is and then Z_BUF_ERROR.
    if (count < 0 || code != Z_OK) {
      const bool cut = code == Z_BUF_ERROR;
      throw file_error(file,
                       cut ? "the gzip file is cut off after " +
                                 std::to_string(bytes.size() + std::max(count, 0)) + " decompressed bytes"
                           : "the gzip file is damaged: " + message,
                       "download or copy it again");
    }
    if (count == 0) return bytes;
    bytes.append(chunk, 0, static_cast<size_t>(count));
  }
}

}  // namespace

std::filesystem::path resolved(const std::filesystem::path& base_dir, const std::string& path) {
  return (base_dir / path).lexically_normal();
}

Error file_error(const std::filesystem::path& file, const std::string& what, const std::string& repair) {
  return Error(ErrorKind::usage, file.string() + ": " + what, repair);
}

std::string read_file(const std::filesystem::path& file) {
  Descriptor descriptor(file);
  std::string bytes(descriptor.size(), '\0');
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t count =
        ::pread(descriptor.get(), bytes.data() + filled, bytes.size() - filled, static_cast<off_t>(filled));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      throw file_error(file, std::string("cannot be read: ") + std::strerror(errno), "check the disk");
    if (count == 0)
      throw file_error(file, "became shorter while it was read", "run again when nobody writes to it");
    filled += static_cast<size_t>(count);
    const bool gzip = filled >= 2 && bytes.compare(0, 2, "\x1f\x8b") == 0;
    if (gzip) return read_gzip(file, descriptor);
  }
  return bytes;
}

MappedFile::MappedFile(const std::filesystem::path& file) : path_(file) {
  Descriptor descriptor(file);
  void* address = ::mmap(nullptr, descriptor.size(), PROT_READ, MAP_PRIVATE, descriptor.get(), 0);
  if (address == MAP_FAILED) {
    throw file_error(file, std::string("cannot be mapped into memory: ") + std::strerror(errno),
                     "free address space");
  }
  data_ = static_cast<const std::byte*>(address);
  size_ = descriptor.size();
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace loop::data
