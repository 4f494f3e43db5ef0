// `loopc check --fix` and `--diff` as a shell sees them.
#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "compiler/driver/command.h"
#include "tests/support/temporary_folder.h"

namespace fs = std::filesystem;

namespace {

struct Result {
  int status;
  std::string out;
  std::string err;
};

Result run(const std::vector<std::string>& args, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  const int status = loop::driver::run_command(args, in, out, err);
  return {status, out.str(), err.str()};
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string loop_with(const std::string& update,
                      const std::string& window = "size = 4 micro_batches; tail = flush") {
  return "use std.optimizers.sgd\n\nloop example {\n  model = gpt(layers: 1, heads: 1, width: 8, context: "
         "16)\n  data {\n"
         "    train       = lines(\"corpus.txt\", tokenizer: byte)\n    micro_batch = 8 samples\n  }\n"
         "  loss = cross_entropy(ignore: -100) per tokens\n  window { " +
         window + " }\n  update { " + update + " }\n  stop = 100 updates\n}\n";
}

const std::string kRight = "normalize; step sgd(lr: 0.1); zero_grad";
const std::string kWrong = "step sgd(lr: 0.1); normalize; zero_grad";

}  // namespace

TEST_CASE("--fix writes what is certain, and a second run changes nothing") {
  const loop::testing::TemporaryFolder folder;
  const fs::path path = fs::path(folder.path("a.loop"));
  write(path, loop_with(kWrong));
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  CHECK(run({"check", path.string()}).status == 1);
  const Result fixed = run({"check", "--fix", path.string()});
  CHECK(fixed.status == 0);
  CHECK(fixed.err.find("repaired L113") != std::string::npos);
  CHECK(read(path) == loop_with(kRight));
  CHECK(fs::status(path).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  const Result again = run({"check", "--fix", path.string()});
  CHECK(again.status == 0);
  CHECK(again.err.empty());
  CHECK(read(path) == loop_with(kRight));
}

TEST_CASE("--diff writes nothing, and ends as a check of the result would") {
  const loop::testing::TemporaryFolder folder;
  const fs::path path = fs::path(folder.path("a.loop"));
  write(path, loop_with(kWrong));
  const Result diff = run({"check", "--diff", path.string()});
  CHECK(diff.status == 0);
  CHECK(diff.out.find("-  update { " + kWrong + " }\n+  update { " + kRight + " }\n") != std::string::npos);
  CHECK(read(path) == loop_with(kWrong));
  CHECK(run({"check", "--fix", "--diff", path.string()}).out == diff.out);
  CHECK(read(path) == loop_with(kWrong));
}

TEST_CASE("standard input is repaired to standard output") {
  const Result fixed = run({"check", "--fix", "-"}, loop_with(kWrong));
  CHECK(fixed.status == 0);
  CHECK(fixed.out == loop_with(kRight));
  const Result choice = run({"check", "--fix", "-"}, loop_with(kWrong, "size = 4 micro_batches"));
  CHECK(choice.status == 1);
  CHECK(choice.out == loop_with(kRight, "size = 4 micro_batches"));
  CHECK(choice.err.find("L080") != std::string::npos);
}

TEST_CASE("several files are repaired each for itself; what needs a choice is left and reported") {
  const loop::testing::TemporaryFolder folder;
  write(fs::path(folder.path("a.loop")), loop_with(kWrong));
  write(fs::path(folder.path("b.loop")), loop_with(kRight, "size = 4 micro_batches"));
  const Result fixed = run({"check", "--fix", folder.path()});
  CHECK(fixed.status == 1);
  CHECK(fixed.out.find("L080") != std::string::npos);
  CHECK(fixed.out.find("L113") == std::string::npos);
  CHECK(read(fs::path(folder.path("a.loop"))) == loop_with(kRight));
  CHECK(read(fs::path(folder.path("b.loop"))) == loop_with(kRight, "size = 4 micro_batches"));
}

TEST_CASE("what is ignored is not repaired, and what --set says is in no file") {
  const loop::testing::TemporaryFolder folder;
  const fs::path path = fs::path(folder.path("a.loop"));
  write(path, loop_with(kWrong));
  run({"check", "--fix", "--ignore", "L113", path.string()});
  CHECK(read(path) == loop_with(kWrong));
  write(path, loop_with(kRight));
  CHECK(run({"check", "--fix", "--set", "windw.size=2", path.string()}).status == 1);
  CHECK(read(path) == loop_with(kRight));
}

TEST_CASE("a file that cannot be written keeps its text") {
  if (::geteuid() == 0) {
    MESSAGE("skipped: the superuser can write every file");
    return;
  }
  const loop::testing::TemporaryFolder folder;
  const fs::path path = fs::path(folder.path("a.loop"));
  write(path, loop_with(kWrong));
  fs::permissions(path, fs::perms::owner_read);
  const Result fixed = run({"check", "--fix", path.string()});
  CHECK(fixed.status == 2);
  CHECK(fixed.err.find("cannot write") != std::string::npos);
  CHECK(read(path) == loop_with(kWrong));
}

TEST_CASE("json shows the fixes that hold") {
  const auto report = nlohmann::json::parse(run({"check", "--format", "json", "-"}, loop_with(kWrong)).out);
  CHECK(report.dump().find("\"certainty\":\"certain\"") != std::string::npos);
  const auto choices = nlohmann::json::parse(
      run({"check", "--format", "json", "-"}, loop_with(kRight, "size = 4 micro_batches")).out);
  CHECK(choices.dump().find("tail = carry") != std::string::npos);
  CHECK(choices.dump().find("\"certainty\":\"certain\"") == std::string::npos);
}
