// Several specs that use one file, and which files a command is about.
#include "compiler/driver/merge.h"

#include <doctest/doctest.h>

#include <sstream>

#include "compiler/driver/context.h"
#include "compiler/driver/spec_files.h"
#include "tests/support/temporary_folder.h"

using namespace loop;
using namespace loop::driver;

namespace {

/// A whole loop whose `backward` gives L204, with a comment beside it.
std::string base_loop(const std::string& comment, const std::string& size = "4") {
  return "use std.optimizers.sgd\n\nloop base {\n  model = gpt(layers: 1, heads: 1, width: 8, context: 16)\n"
         "  data {\n    train = lines(\"corpus.txt\", tokenizer: byte)\n    micro_batch = 8 samples\n  }\n"
         "  loss = cross_entropy(ignore: -100) per tokens\n"
         "  window { size = " +
         size +
         " micro_batches; tail = flush; reduce = mean }\n"
         "  micro {\n    forward\n    loss\n    backward" +
         comment + "\n  }\n  update { normalize; step sgd(lr: 0.1); zero_grad }\n  stop = 100 updates\n}\n";
}

std::string codes(const std::vector<std::string>& paths) {
  std::istringstream in;
  SettingsOfFiles settings({});
  const auto files = check_files(spec_files(paths), {}, settings, in);
  base::SourceManager sources;
  const diagnostics::Report report = merge(files, sources);
  std::string found;
  for (const auto& finding : report.findings) {
    found += std::string(diagnostics::entry(finding.code).id) + "@" +
             sources.file(finding.span.file).path().substr(paths.front().size()) + " ";
  }
  return found + "+" + std::to_string(report.allowed.size());
}

}  // namespace

TEST_CASE("merge: what several specs say of a file they use is said once") {
  const testing::TemporaryFolder folder;
  folder.write("base.loop", base_loop(""));
  folder.write("a.loop", "use .base\n\nloop a extends base.base { seed = 1 }\n");
  folder.write("b.loop", "use .base\n\nloop b extends base.base { seed = 2 }\n");
  CHECK(codes({folder.path()}) == "L204@/base.loop +0");
  folder.write("base.loop", base_loop("  # loop: allow(L204, reason: \"x\")"));
  CHECK(codes({folder.path()}) == "+1");
}

TEST_CASE("merge: an allowance is unused only when no loop of any spec needs it") {
  const testing::TemporaryFolder folder;
  const std::string comment = "  # loop: allow(L204, reason: \"one node\")";
  // One micro-batch per window: nothing is reduced repeatedly in this loop itself.
  folder.write("base.loop", base_loop(comment, "1"));
  CHECK(codes({folder.path()}) == "L023@/base.loop +0");
  const std::string uses = "use .base\n\nloop a extends base.base { ";
  folder.write("a.loop", uses + "seed = 1 }\n");
  folder.write("b.loop", uses + "seed = 2 }\n");
  CHECK(codes({folder.path()}) == "L023@/base.loop +0");
  folder.write("b.loop", uses + "window { size = 4 micro_batches } }\n");
  CHECK(codes({folder.path()}) == "+1");
  folder.write("a.loop", uses + "window { size = 8 micro_batches } }\n");
  CHECK(codes({folder.path()}) == "+2");  // another number of reductions: another finding
  // The spec that is asked for says nothing of allowances in the files that it uses.
  folder.write("a.loop", uses + "seed = 1 }\n");
  CHECK(codes({folder.path("a.loop")}) == "+0");
  // Several loops of one file: one that needs it is enough.
  const std::string second = "\nloop second extends base { window { size = 4 micro_batches } }\n";
  folder.write("base.loop", base_loop(comment, "1") + second);
  CHECK(codes({folder.path("base.loop")}) == "+1");
  folder.write("base.loop", base_loop(comment, "1") + "\nloop second extends base { seed = 2 }\n");
  CHECK(codes({folder.path("base.loop")}).ends_with("L023@ +0"));
}

TEST_CASE("spec files: named and found, sorted, each once") {
  const testing::TemporaryFolder folder;
  folder.write("b.loop", "");
  folder.write("a.loop", "");
  folder.write("x/c.loop", "");
  folder.write("x/.hidden/d.loop", "");
  folder.write("x/readme.md", "");
  const auto files = spec_files({folder.path("b.loop"), folder.path(), folder.path() + "/x/../b.loop"});
  REQUIRE(files.size() == 3);
  CHECK(files[0].path == folder.path("a.loop"));
  CHECK(files[0].searched);
  CHECK(files[1].path == folder.path("b.loop"));
  CHECK_FALSE(files[1].searched);
  CHECK(files[2].path == folder.path("x/c.loop"));
  std::filesystem::create_directory(folder.path("empty"));
  CHECK_THROWS_AS(spec_files({folder.path("empty")}), UsageError);
}
