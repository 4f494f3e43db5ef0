#include "compiler/driver/text_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sstream>

#include "compiler/base/limits.h"
#include "tests/support/temporary_folder.h"

using namespace loop::driver;
namespace fs = std::filesystem;

namespace {

std::string failure(const std::string& path) {
  std::istringstream in;
  try {
    read_spec(path, in);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("reading: what cannot be read is named with its reason") {
  const loop::testing::TemporaryFolder folder;
  CHECK(failure(folder.path("none.loop")).find("No such file") != std::string::npos);
  CHECK(failure(folder.path()).find("it is a folder") != std::string::npos);
  CHECK(failure("/dev/zero").find("MiB") != std::string::npos);
  if (::geteuid() != 0) {  // the superuser reads everything
    const std::string secret = folder.write("secret.loop", "x");
    ::chmod(secret.c_str(), 0);
    CHECK(failure(secret).find("Permission denied") != std::string::npos);
  }
}

TEST_CASE("reading: bytes as they are, from a file and from standard input") {
  const loop::testing::TemporaryFolder folder;
  const std::string bytes("a\r\n\0\xff", 5);
  std::istringstream in(bytes);
  CHECK(read_spec(folder.write("a.loop", bytes), in) == bytes);
  CHECK(read_spec("-", in) == bytes);
  CHECK(read_spec("-", in).empty());
  // Longer than a spec may be: still read, so that the finding can tell its size.
  const std::string long_text(loop::base::kMaxFileBytes + 5, ' ');
  CHECK(read_spec(folder.write("long.loop", long_text), in).size() == long_text.size());
}

TEST_CASE("replacing: permissions and symbolic links stay, nothing is left beside the file") {
  const loop::testing::TemporaryFolder folder;
  const std::string path = folder.write("a.loop", "old");
  ::chmod(path.c_str(), 0640);
  fs::create_symlink("a.loop", folder.path("link.loop"));
  replace_file(folder.path("link.loop"), "new");
  CHECK(folder.text("a.loop") == "new");
  CHECK(fs::is_symlink(folder.path("link.loop")));
  struct stat status {};
  ::stat(path.c_str(), &status);
  CHECK((status.st_mode & 07777U) == 0640);
  CHECK(folder.entries() == 2);
}

TEST_CASE("replacing: a file or folder that may not be written is left as it is") {
  const loop::testing::TemporaryFolder folder;
  CHECK_THROWS_AS(replace_file(folder.path("none.loop"), "x"), UsageError);
  if (::geteuid() == 0) return;  // the superuser writes everything
  const std::string read_only = folder.write("ro.loop", "old");
  ::chmod(read_only.c_str(), 0444);
  CHECK_THROWS_AS(replace_file(read_only, "new"), UsageError);
  const std::string path = folder.write("a.loop", "old");
  ::chmod(folder.path().c_str(), 0555);
  CHECK_THROWS_AS(replace_file(path, "new"), UsageError);
  ::chmod(folder.path().c_str(), 0755);
  CHECK(folder.text("ro.loop") == "old");
  CHECK(folder.text("a.loop") == "old");
  CHECK(folder.entries() == 2);
}
