#include "compiler/driver/allowances.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/driver/allowance_comment.h"
#include "compiler/driver/pipeline.h"
#include "compiler/syntax/format.h"
#include "compiler/syntax/parser.h"

using namespace loop;
using namespace loop::driver;

namespace {

// L204 at `backward`, L807 at `size`: a note each, and L111, an error, at `clip`.
const std::string kSpec =
    "use std.optimizers.sgd\n"
    "\n"
    "loop example {\n"
    "  model = gpt(layers: 1, heads: 1, width: 8, context: 16)\n"
    "  data {\n"
    "    train       = lines(\"corpus.txt\", tokenizer: byte)\n"
    "    micro_batch = 8 samples\n"
    "  }\n"
    "  loss = cross_entropy(ignore: -100) per tokens\n"
    "  window {\n"
    "    size   = 32 micro_batches\n"
    "    tail   = flush\n"
    "    reduce = mean\n"
    "  }\n"
    "  micro {\n"
    "    forward\n"
    "    loss\n"
    "    backward\n"
    "  }\n"
    "  update {\n"
    "    clip(norm: 1.0)\n"
    "    normalize\n"
    "    step sgd(lr: 0.1)\n"
    "    zero_grad\n"
    "  }\n"
    "  stop = 100 updates\n"
    "}\n";

std::string with(std::string text, const std::string& before, const std::string& written) {
  const size_t at = text.find(before);
  REQUIRE(at != std::string::npos);
  return text.insert(at, written);
}

struct Outcome {
  std::string shown;    // codes in their order
  std::string allowed;  // the same
  std::string reason;   // of the last that is allowed
};

Outcome check(const std::string& text) {
  Compilation compilation;
  std::istringstream in(text);
  check_spec(compilation, {.path = "-"}, in);
  Outcome outcome;
  for (const auto& finding : compilation.engine.diagnostics())
    outcome.shown += std::string(diagnostics::entry(finding.code).id) + " ";
  for (const auto& one : compilation.allowed) {
    outcome.allowed += std::string(diagnostics::entry(one.finding.code).id) + " ";
    outcome.reason = one.reason;
  }
  return outcome;
}

}  // namespace

TEST_CASE("allowances: at the end of a line, for that line") {
  const Outcome plain = check(kSpec);
  CHECK(plain.shown == "L807 L204 L111 ");
  CHECK(plain.allowed.empty());
  const Outcome one =
      check(with(kSpec, "\n    normalize", "  # loop: allow(L111, reason: \"as in the paper\")"));
  CHECK(one.shown == "L807 L204 ");
  CHECK(one.allowed == "L111 ");
  CHECK(one.reason == "as in the paper");
}

TEST_CASE("allowances: on a line of its own, for the next statement with its block") {
  const std::string comment = "# loop: allow(clip-before-normalize, l204, reason: \"\\\"seen\\\"\")\n  ";
  const Outcome update = check(with(kSpec, "update {", comment));
  CHECK(update.allowed == "L111 ");
  CHECK(update.reason == "\"seen\"");
  CHECK(update.shown == "L807 L204 L023 ");  // nothing in `update` gives L204
  const Outcome all = check(with(kSpec, "loop example", comment + "# another comment between\n"));
  CHECK(all.allowed == "L204 L111 ");
  CHECK(all.shown == "L807 ");
}

TEST_CASE("allowances: on the line of a block's head or its end, for the whole block") {
  const std::string comment = " # loop: allow(L111, reason: \"seen\")";
  CHECK(check(with(kSpec, "\n    clip", comment)).allowed == "L111 ");
  CHECK(check(with(kSpec, "\n  stop", comment)).allowed == "L111 ");
  const Outcome other = check(with(kSpec, "\n    forward", comment));
  CHECK(other.allowed.empty());
  CHECK(other.shown == "L807 L023 L204 L111 ");
}

TEST_CASE("allowances: for a file, before its first statement") {
  const std::string comment = "# loop: allow-file(L807, L204, reason: \"a study of large batches\")\n";
  CHECK(check(comment + kSpec).allowed == "L807 L204 ");
  CHECK(check(comment + kSpec).shown == "L111 ");
  CHECK(check(with(kSpec, "loop example", comment)).shown == "L020 L807 L204 L111 ");
}

TEST_CASE("allowances: within an expression, for the next line") {
  const std::string spread = with(kSpec, "1.0)", "\n      # loop: allow(L111, reason: \"seen\")\n      ");
  const Outcome outcome = check(spread);  // the finding begins at `clip`, a line earlier
  CHECK(outcome.allowed.empty());
  CHECK(outcome.shown == "L807 L204 L111 L023 ");
}

TEST_CASE("allowances: the nearest one is used, others are unused") {
  std::string text = "# loop: allow-file(L111, reason: \"all\")\n" + kSpec;
  text = with(text, "\n    normalize", "  # loop: allow(L111, reason: \"this\")");
  const Outcome outcome = check(text);
  CHECK(outcome.reason == "this");
  CHECK(outcome.shown == "L023 L807 L204 ");
}

TEST_CASE("allowances: what is wrong with one is a finding, and it allows nothing") {
  const auto shown = [](const std::string& comment) {
    return check(with(kSpec, "\n    normalize", "  " + comment)).shown;
  };
  for (const char* malformed :
       {"# loop: allow", "# loop: allow(", "# loop: allow()", "# loop: allow(L111",
        "# loop: allow(L111, reason: x)", "# loop: allow(L111, reason: \"x)",
        "# loop: allow(L111 L204, reason: \"x\")", "# loop: allow(L111, reason: \"x\") and more",
        "# loop: alow(L111, reason: \"x\")", "# loop: allow(reason: \"x\")",
        "# loop: allowed(L111, reason: \"x\")", "# loop: allow(L111, reason: \"x\", reason: \"y\")"}) {
    CAPTURE(malformed);
    CHECK(shown(malformed) == "L807 L204 L111 L020 ");
  }
  CHECK(shown("# loop: allow(L111)") == "L807 L204 L111 L021 ");
  CHECK(shown("# loop: allow(L111, reason: \" \")") == "L807 L204 L111 L021 ");
  CHECK(shown("# loop: allow(L1111, reason: \"x\")") == "L807 L204 L111 L022 ");
  CHECK(shown("# loop: allow(L062, reason: \"x\")") == "L807 L204 L111 L024 ");
  CHECK(shown("# loop: allow(L990, reason: \"x\")") == "L807 L204 L111 L024 ");
  CHECK(shown("# loop: allow(L023, reason: \"x\")") == "L807 L204 L111 L024 ");
  CHECK(check(with(kSpec, "}\n  stop", "  # loop: allow(L111, reason: \"x\")\n  ")).shown ==
        "L807 L204 L111 L020 ");
}

TEST_CASE("allowances: other comments are comments") {
  for (const char* comment : {"# loop", "# loop: over the data", "# the loop: allow(L111)",
                              "# loops: allow(L111)", "# loop: note (see below)"}) {
    CAPTURE(comment);
    const bool meant = read_allowance_comment(comment).has_value();
    CHECK(meant == (std::string(comment) == "# loop: note (see below)"));
  }
  CHECK(read_allowance_comment("#loop:allow(L1,reason=\"x\")")->fault.empty());
}

TEST_CASE("allowances: not called unused while the spec has other errors, nor with an override") {
  const std::string unused = with(kSpec, "\n    zero_grad", "  # loop: allow(L301, reason: \"x\")");
  CHECK(check(unused).shown.find("L023") != std::string::npos);
  CHECK(check(with(unused, "  stop", "  sede = 1\n")).shown.find("L023") == std::string::npos);
  CHECK(check(with(unused, "  stop", "  seed = \n")).shown.find("L023") == std::string::npos);
  Compilation compilation;
  std::istringstream in(unused);
  check_spec(compilation, {.path = "-", .overrides = {"seed=2"}}, in);
  for (const auto& finding : compilation.engine.diagnostics()) CHECK(finding.code != diagnostics::Code::L023);
}

TEST_CASE("allowances: formatting keeps what each of them allows") {
  const std::string trailing = "  # loop: allow(L204, L111, L807, reason: \"x\")";
  // At the end of every line, and above every line.
  size_t compared = 0;
  for (size_t at = kSpec.find('\n'); at != std::string::npos; at = kSpec.find('\n', at + 1)) {
    for (const std::string& text :
         {std::string(kSpec).insert(at, trailing), std::string(kSpec).insert(at + 1, trailing + "\n")}) {
      base::SourceManager sources;
      diagnostics::Engine engine;
      const auto parsed = syntax::parse(sources, sources.add("x.loop", text), engine);
      REQUIRE_FALSE(parsed.had_errors);
      const std::string formatted = syntax::format(sources, parsed.file);
      CAPTURE(text);
      CAPTURE(formatted);
      const Outcome before = check(text);
      const Outcome after = check(formatted);
      CHECK(before.allowed == after.allowed);
      CHECK(before.shown == after.shown);
      ++compared;
    }
  }
  CHECK(compared > 50);
  // A block on one line is spread over several: its comment then stands at its end.
  const std::string short_form = "loop x { seed = 1 }  # loop: allow(L111, reason: \"x\")\n";
  base::SourceManager sources;
  diagnostics::Engine engine;
  const auto parsed = syntax::parse(sources, sources.add("x.loop", short_form), engine);
  const std::string formatted = syntax::format(sources, parsed.file);
  const auto reach = [](const std::string& text) {
    base::SourceManager own;
    diagnostics::Engine none;
    const auto found = read_allowances(own, own.add("x.loop", text), none);
    REQUIRE(found.size() == 1);
    size_t statements = 0;
    for (const base::Span& scope : found.front().scopes)
      statements += own.text(scope).find("seed = 1") != std::string::npos ? 1 : 0;
    return statements > 0;
  };
  CHECK(reach(short_form));
  CHECK(reach(formatted));
}

TEST_CASE("allowances: a loop whose errors are all allowed can be run as it is written") {
  // Every page's wrong example, with what it gives allowed.
  size_t lowered = 0;
  for (const diagnostics::CatalogEntry& entry : diagnostics::catalog()) {
    if (entry.severity != diagnostics::Severity::error || !why_not_allowable(entry).empty()) continue;
    std::ifstream file(std::string(LOOP_SOURCE_DIR) + "/docs/errors/" + std::string(entry.id) + ".md");
    const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const size_t begin = page.find("```loop wrong\n");
    if (begin == std::string::npos) continue;
    const size_t from = begin + std::string("```loop wrong\n").size();
    const std::string example = page.substr(from, page.find("```", from) - from);
    CAPTURE(entry.id);
    std::string codes;
    {
      Compilation compilation;
      std::istringstream in(example);
      check_spec(compilation, {.path = "-"}, in);
      for (const auto& finding : compilation.engine.diagnostics()) {
        if (finding.severity == diagnostics::Severity::error)
          codes += std::string(diagnostics::entry(finding.code).id) + ", ";
      }
    }
    Compilation compilation;
    std::istringstream in("# loop: allow-file(" + codes + "reason: \"a test\")\n" + example);
    const auto specs = check_spec(compilation, {.path = "-"}, in);
    if (compilation.engine.has_errors()) continue;
    CHECK_FALSE(compilation.allowed.empty());
    for (const sema::Spec& spec : specs) {
      try {
        lower_spec(compilation, spec, {.path = "-"});
        ++lowered;
      } catch (const std::exception& error) {
        FAIL_CHECK(entry.id << " cannot be lowered: " << error.what());
      }
    }
  }
  CHECK(lowered > 40);
}
