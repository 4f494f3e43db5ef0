// The command line: exit statuses, where text goes, what wrong usage says.
#include "compiler/driver/command.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/temporary_folder.h"

using loop::driver::run_command;

namespace {

struct Result {
  int status = 0;
  std::string out;
  std::string err;
};

Result loopc(const std::vector<std::string>& args, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  const int status = run_command(args, in, out, err);
  return {status, out.str(), err.str()};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const char* const kGood = R"(use std.optimizers.sgd

loop small {
  model = mlp(hidden: [8])
  data {
    train       = csv("rows.csv", target: "y", task: regression)
    micro_batch = 4 samples
  }
  loss = mse() per samples
  window {
    size = 2 micro_batches
    tail = flush
  }
  update { step sgd(lr: 0.1) }
  stop = 10 updates
}
)";

}  // namespace

TEST_CASE("command: help and version are results, not errors") {
  for (const char* flag : {"--help", "--version"}) {
    const Result result = loopc({flag});
    CHECK(result.status == 0);
    CHECK(result.err.empty());
    CHECK(contains(result.out, flag == std::string("--help") ? "Usage" : "loopc "));
  }
  for (const char* command : {"check", "fmt", "plan", "run", "explain", "doctor"}) {
    CHECK(loopc({command, "--help"}).status == 0);
    CHECK(contains(loopc({"--help"}).out, command));
  }
}

TEST_CASE("command: wrong usage exits with 2 and says why") {
  const std::vector<std::vector<std::string>> wrong = {{},
                                                       {"train"},
                                                       {"check"},
                                                       {"check", "--format", "xml", "a.loop"},
                                                       {"check", "--no-such-flag", "a.loop"},
                                                       {"fmt"},
                                                       {"plan"},
                                                       {"run"},
                                                       {"run", "a.loop", "--ranks", "0"},
                                                       {"run", "a.loop", "--ranks", "two"},
                                                       {"explain", "L000"},
                                                       {"check", "no-such-file.loop"},
                                                       {"fmt", "no-such-file.loop"},
                                                       {"plan", "no-such-file.loop"},
                                                       {"run", "no-such-file.loop"},
                                                       {"check", "--select", "nonsense", "a.loop"},
                                                       {"plan", "a.loop", "b.loop"}};
  for (const auto& args : wrong) {
    const Result result = loopc(args);
    CAPTURE(args.empty() ? "" : args.front());
    CAPTURE(result.err);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CHECK(contains(result.err, "loopc: "));
  }
}

TEST_CASE("command: `--set` needs a key and a value") {
  for (const char* command : {"check", "plan", "run"}) {
    CHECK(loopc({command, "-", "--set", "seed"}, kGood).status == 2);
    CHECK(loopc({command, "-", "--set", "=1"}, kGood).status == 2);
  }
  CHECK(loopc({"check", "--set", "seed=1", "-"}, kGood).status ==
        0);  // the flag takes one value, not the file too
}

TEST_CASE("check: 0 without errors, 1 with; findings on standard output") {
  const loop::testing::TemporaryFolder folder;
  const std::string good = folder.write("good.loop", kGood);
  const std::string bad = folder.write("bad.loop", "loop x {\n  seed = \n}\n");
  const Result fine = loopc({"check", good});
  CHECK(fine.status == 0);
  CHECK(fine.out == "no findings in 1 file\n");
  CHECK(fine.err.empty());
  const Result wrong = loopc({"check", good, bad});
  CHECK(wrong.status == 1);
  CHECK(contains(wrong.out, "error[L002 missing-value]"));
  CHECK(contains(wrong.out, bad + ":2:"));
  CHECK(contains(wrong.out, " in 1 of 2 files\n"));
  CHECK(wrong.err.empty());
}

TEST_CASE("check: JSON for good and bad files, the same findings as text") {
  const Result fine = loopc({"check", "--format", "json", "-"}, kGood);
  CHECK(fine.status == 0);
  CHECK(nlohmann::json::parse(fine.out)["diagnostics"].empty());
  const Result wrong = loopc({"check", "--format", "json", "-"}, "loop x { seed = \"\xff\" }\n");
  CHECK(wrong.status == 1);
  const auto document = nlohmann::json::parse(wrong.out);
  REQUIRE(!document["diagnostics"].empty());
  CHECK(document["diagnostics"][0]["code"] == "L012");
  CHECK(document["diagnostics"][0]["path"] == "<stdin>");
  CHECK(document["summary"]["errors"].get<int>() >= 1);
}

TEST_CASE("check: no colours in a pipe") {
  CHECK_FALSE(contains(loopc({"check", "-"}, "loop x {").out, "\x1b"));
}

TEST_CASE("check: `--data` looks for the files, without it none is needed") {
  const loop::testing::TemporaryFolder folder;
  const std::string path = folder.write("good.loop", kGood);
  CHECK(loopc({"check", path}).status == 0);
  const Result missing = loopc({"check", "--data", path});
  CHECK(missing.status == 1);
  CHECK(contains(missing.out, "rows.csv"));
  folder.write("rows.csv", "x,y\n1,2\n");
  CHECK(loopc({"check", "--data", path}).status == 0);
}

TEST_CASE("fmt: writes in place once, then finds nothing to do") {
  const loop::testing::TemporaryFolder folder;
  const std::string path = folder.write("a.loop", "loop   x{ seed=1 # one\n}\n");
  CHECK(loopc({"fmt", "--check", path}).status == 1);
  CHECK(folder.text("a.loop") == "loop   x{ seed=1 # one\n}\n");
  const Result written = loopc({"fmt", path});
  CHECK(written.status == 0);
  CHECK(written.out.empty());
  CHECK(contains(folder.text("a.loop"), "# one"));
  CHECK(loopc({"fmt", "--check", path}).status == 0);
  CHECK(loopc({"fmt", "--diff", path}).out.empty());
  CHECK(folder.entries() == 1);
}

TEST_CASE("fmt: `--diff` shows what would change and changes nothing") {
  const loop::testing::TemporaryFolder folder;
  const std::string path = folder.write("a.loop", "loop x {\n  seed   =   1\n}\n");
  const Result shown = loopc({"fmt", "--diff", path});
  CHECK(shown.status == 1);
  CHECK(contains(shown.out, "--- " + path));
  CHECK(contains(shown.out, "-  seed   =   1\n+  seed = 1\n"));
  CHECK(folder.text("a.loop") == "loop x {\n  seed   =   1\n}\n");
}

TEST_CASE("fmt: a file with syntax errors is left as it is, the others are still written") {
  const loop::testing::TemporaryFolder folder;
  const std::string broken = folder.write("broken.loop", "loop   x { seed = \n}\n");
  const std::string untidy = folder.write("untidy.loop", "loop   x{}\n");
  const Result result = loopc({"fmt", broken, untidy});
  CHECK(result.status == 1);
  CHECK(contains(result.err, "error[L0"));
  CHECK(folder.text("broken.loop") == "loop   x { seed = \n}\n");
  CHECK(folder.text("untidy.loop") != "loop   x{}\n");
}

TEST_CASE("fmt: standard input goes to standard output, an empty text stays empty") {
  const Result result = loopc({"fmt", "-"}, "loop   x{  seed=1 }\n");
  CHECK(result.status == 0);
  CHECK(contains(result.out, "seed = 1"));
  CHECK(loopc({"fmt", "-"}, result.out).out == result.out);
  CHECK(loopc({"fmt", "-"}, "").out.empty());
  CHECK(loopc({"fmt", "-"}, "loop x {").out.empty());
}

TEST_CASE("explain: by code, by name, all, and what is meant by a near miss") {
  const Result page = loopc({"explain", "L990"});
  CHECK(page.status == 0);
  CHECK(page.out.rfind("# L990 not-available\n", 0) == 0);
  CHECK(loopc({"explain", "not-available"}).out == page.out);
  CHECK(loopc({"explain", "l990"}).out == page.out);
  CHECK(contains(loopc({"explain"}).out, "L990  not-available"));
  const Result near = loopc({"explain", "not-availble"});
  CHECK(near.status == 2);
  CHECK(contains(near.err, "did you mean `not-available`?"));
}

TEST_CASE("plan: for a person, for a program, and errors on standard error") {
  const Result shown = loopc({"plan", "-"}, kGood);
  CHECK(shown.status == 0);
  CHECK(contains(shown.out, "small"));
  const Result json = loopc({"plan", "-", "--json", "--set", "seed=7"}, kGood);
  CHECK(json.status == 0);
  const auto document = nlohmann::json::parse(json.out);
  CHECK(document["format"] == "loop-plan");
  CHECK(document["plan"]["seed"] == 7);
  const Result wrong = loopc({"plan", "-", "--json"}, "loop x { seed = }\n");
  CHECK(wrong.status == 1);
  CHECK(wrong.out.empty());
  CHECK(contains(wrong.err, "error["));
}

TEST_CASE("plan, run: which loop of a file") {
  std::string two = kGood;
  std::string second = two.substr(two.find("loop small"));
  second.replace(5, 5, "other");
  two += "\n" + second;
  const Result several = loopc({"plan", "-"}, two);
  CHECK(several.status == 2);
  CHECK(contains(several.err, "small or other"));
  CHECK(loopc({"plan", "-", "--loop", "other"}, two).status == 0);
  CHECK(loopc({"plan", "-", "--loop", "third"}, two).status != 0);
  CHECK(loopc({"plan", "-"}, "# nothing\n").status != 0);
}

TEST_CASE("run: stops at findings, without starting anything") {
  const loop::testing::TemporaryFolder folder;
  folder.write("rows.csv", "x,y\n1,2\n");
  std::string text = kGood;
  text.insert(text.find("  model"), "  device = cuda\n");
  const std::string path = folder.write("a.loop", text);
  CHECK(loopc({"check", path}).status == 0);
  const Result result = loopc({"run", path});
  CHECK(result.status == 1);
  CHECK(contains(result.err, "L990 not-available"));
}

TEST_CASE("run: missing data is a finding of `run`") {
  const loop::testing::TemporaryFolder folder;
  const Result result = loopc({"run", folder.write("good.loop", kGood)});
  CHECK(result.status == 1);
  CHECK(contains(result.err, "rows.csv"));
}

TEST_CASE("doctor: names every part and exits with 0 or 1") {
  const Result result = loopc({"doctor"});
  CHECK((result.status == 0 || result.status == 1));
  for (const char* part : {"LibTorch", "CUDA", "NCCL", "LLVM", "ANTLR", "compiler", "usable:"})
    CHECK(contains(result.out, part));
  CHECK(contains(result.out, "WRONG") == (result.status == 1));
  if (result.status == 0) {
    CHECK(contains(result.out, "looprun 0."));
    CHECK(contains(result.out, "compiles update rules"));
  }
}
