#include "compiler/driver/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>

#include "compiler/base/limits.h"

namespace loop::driver {
namespace {

constexpr size_t kMostOfSpec = 16 * base::kMaxFileBytes;  // what is read before giving up, as on /dev/zero

[[noreturn]] void fail(const std::string& what, const std::string& path, int error) {
  throw UsageError("cannot " + what + " `" + path + "`: " + std::strerror(error));
}

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int get() const { return value_; }
  int release() {
    const int value = value_;
    value_ = -1;
    return value;
  }

 private:
  int value_;
};

std::string read_at_most(const std::string& path, size_t most) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail("read", path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail("read", path, errno);
  if (S_ISDIR(status.st_mode))
    throw UsageError("cannot read `" + path + "`: it is a folder, a file is needed");
  std::string text;
  char buffer[65536];
  while (text.size() < most) {
    const ssize_t got = ::read(file.get(), buffer, std::min(sizeof buffer, most - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read", path, errno);
    if (got == 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

/// A new file beside `target` that is removed again unless it takes the target's place.
class Replacement {
 public:
  explicit Replacement(const std::string& target)
      : target_(target), path_(target + ".XXXXXX"), file_(::mkostemp(path_.data(), O_CLOEXEC)) {
    if (file_.get() < 0) fail("write beside", target_, errno);
    made_ = true;
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  ~Replacement() {
    if (made_) ::unlink(path_.c_str());
  }

  void write(const std::string& text) {
    for (size_t done = 0; done < text.size();) {
      const ssize_t written = ::write(file_.get(), text.data() + done, text.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("write", target_, errno);
      done += static_cast<size_t>(written);
    }
  }

  void take_over(const struct stat& old) {
    // Another owner can only be kept by the superuser; the permissions always.
    if (::fchown(file_.get(), old.st_uid, old.st_gid) != 0 && ::geteuid() == 0) fail("write", target_, errno);
    if (::fchmod(file_.get(), old.st_mode & 07777U) != 0 || ::fsync(file_.get()) != 0)
      fail("write", target_, errno);
    if (::close(file_.release()) != 0) fail("write", target_, errno);
    if (::rename(path_.c_str(), target_.c_str()) != 0) fail("write", target_, errno);
    made_ = false;
  }

 private:
  std::string target_;
  std::string path_;
  Descriptor file_;
  bool made_ = false;
};

}  // namespace

std::string read_spec(const std::string& path, std::istream& in) {
  std::string text;
  if (path != kStandardInput) {
    text = read_at_most(path, kMostOfSpec);
  } else {
    char buffer[65536];
    while (text.size() < kMostOfSpec && in) {
      in.read(buffer, sizeof buffer);
      text.append(buffer, static_cast<size_t>(in.gcount()));
    }
  }
  if (text.size() < kMostOfSpec) return text;  // if it is too long, the parser says so with its size
  throw UsageError("`" + path + "` does not end within " + std::to_string(kMostOfSpec >> 20U) +
                   " MiB: it is not a spec, which has " + std::to_string(base::kMaxFileBytes >> 20U) +
                   " MiB at most");
}

std::string read_file(const std::string& path) {
  return read_at_most(path, std::numeric_limits<size_t>::max());
}

void replace_file(const std::string& path, const std::string& text) {
  std::error_code error;
  const std::string target = std::filesystem::canonical(path, error).string();  // through symbolic links
  if (error) fail("write", path, error.value());
  struct stat old {};
  if (::stat(target.c_str(), &old) != 0) fail("write", path, errno);
  if (::access(target.c_str(), W_OK) != 0) fail("write", path, errno);  // a rename would not ask
  Replacement replacement(target);
  replacement.write(text);
  replacement.take_over(old);
}

}  // namespace loop::driver
