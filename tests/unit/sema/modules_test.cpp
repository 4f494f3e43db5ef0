#include <doctest/doctest.h>

#include "compiler/base/limits.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/sema/analysis.h"

using namespace loop;
using loop::testing::Analysis;
using loop::testing::File;
using loop::testing::kTiny;
using loop::testing::replace;
using loop::testing::TemporaryFolder;

TEST_CASE("a spec uses a loop of a file beside it") {
  TemporaryFolder folder;
  folder.write("shared/base.loop", kTiny);
  Analysis analysis(File{
      folder.write("spec.loop", "use .shared.base\n\nloop longer extends tiny {\n  stop = 7 updates\n}\n")});
  CAPTURE(analysis.text());
  CHECK(analysis.engine.diagnostics().empty());
  REQUIRE(analysis.result.specs.size() == 1);  // the imported loop itself is not this file's
  CHECK(analysis.spec().name == "longer");
  CHECK(analysis.spec().stop[0].condition.limit.value == 7);
  CHECK(analysis.spec().base_dir == std::filesystem::weakly_canonical(folder.path()).string());
  // spec, base and what base uses: a plan made of them notices a change of any.
  CHECK(analysis.spec().spec_files.size() >= 3);
}

TEST_CASE("`module.name` and one single name can be brought in") {
  TemporaryFolder folder;
  folder.write("base.loop", kTiny + "\nconst rate = 0.5\n");
  CHECK(Analysis(File{folder.write("a.loop", "use .base.tiny\nloop x extends tiny { seed = 3 }\n")})
            .spec()
            .seed.value == 3);
  CHECK(Analysis(File{folder.write("b.loop", "use .base\nloop x extends base.tiny { seed = 4 }\n")})
            .spec()
            .seed.value == 4);
  // A single import brings nothing else.
  CHECK(Analysis(File{folder.write("c.loop",
                                   "use .base.tiny\nuse std.optimizers.sgd\nloop x extends tiny { update { "
                                   "step sgd(lr: rate) } }\n")})
            .has("L062"));
}

TEST_CASE("names mean what they mean in the file they are written in") {
  TemporaryFolder folder;
  folder.write("base.loop", replace("const rate = 0.25\n" + kTiny, "lr: 0.1", "lr: rate"));
  Analysis analysis(File{
      folder.write("spec.loop", "use .base.tiny\nconst rate = 0.5\nloop x extends tiny { seed = 3 }\n")});
  CAPTURE(analysis.text());
  CHECK(analysis.spec().update.operations[1].op.rule.find("lr")->value == 0.25);
}

TEST_CASE("files that are not there") {
  TemporaryFolder folder;
  Analysis none(File{folder.path("nowhere.loop")});
  CHECK(none.has("L030"));
  CHECK(none.result.specs.empty());
  CHECK(Analysis(File{folder.path()}).has("L030"));

  folder.write("shared/base.loop", kTiny);
  Analysis missing(File{folder.write("spec.loop", "use .shared.bsae\n" + kTiny)});
  CHECK(missing.place("L031") == "shared.bsae");
  CHECK(missing.finding("L031").fixes[0].edits[0].text == "base");
  CHECK(Analysis(kTiny + "\n").engine.diagnostics().empty());
  CHECK(Analysis("use std.optimizers.adamm\n" + kTiny).place("L031") == "std.optimizers.adamm");
  CHECK(Analysis("use shared.base\n" + kTiny).place("L031") == "shared.base");
  CHECK(Analysis("use std\n" + kTiny).has("L031"));

  Analysis name(File{folder.write("spec2.loop", "use .shared.base.tyni\n" + kTiny)});
  CHECK(name.place("L032") == "tyni");
  CHECK(name.finding("L032").fixes[0].edits[0].text == "tiny");
}

TEST_CASE("no path leaves the import roots") {
  TemporaryFolder folder;
  folder.write("outside.loop", kTiny);
  std::filesystem::path spec = folder.write("project/spec.loop", "use ..outside\n" + kTiny);
  CHECK(Analysis(File{spec}).place("L033") == "use ..outside");
  // A loop.toml in the upper folder makes it the root.
  folder.write("loop.toml", "");
  Analysis allowed(
      File{folder.write("project/other.loop", "use ..outside\nloop x extends tiny { seed = 1 }\n")});
  CAPTURE(allowed.text());
  CHECK(allowed.engine.diagnostics().empty());
  std::filesystem::remove(folder.path("loop.toml"));

  // A link inside the root that points out of it is the same escape.
  std::filesystem::create_symlink(folder.path("outside.loop"), folder.path("project/linked.loop"));
  CHECK(Analysis(File{folder.write("project/spec3.loop", "use .linked\n" + kTiny)}).has("L033"));
  std::filesystem::create_directory_symlink(folder.path(), folder.path("project/up"));
  CHECK(Analysis(File{folder.write("project/spec4.loop", "use .up.outside\n" + kTiny)}).has("L033"));
}

TEST_CASE("import cycles and too many imports end with a finding") {
  TemporaryFolder folder;
  folder.write("a.loop", "use .b\nconst x = 1\n");
  folder.write("b.loop", "use .a\nconst y = 1\n");
  Analysis cycle(File{folder.write("spec.loop", "use .a\n" + kTiny)});
  CHECK(cycle.place("L034") == "use .a");
  folder.write("self.loop", "use .self\n");
  CHECK(Analysis(File{folder.path("self.loop")}).has("L034"));

  // A chain longer than the limit: one finding, no exhausted stack.
  for (size_t i = 0; i < base::kMaxImports + 5; ++i)
    folder.write("chain/p" + std::to_string(i) + ".loop", "use .p" + std::to_string(i + 1) + "\n");
  Analysis chain(File{folder.write(
      "chain/spec.loop", replace(kTiny, "use std.optimizers.sgd\n", "use std.optimizers.sgd\nuse .p0\n"))});
  CAPTURE(chain.text());
  CHECK(chain.has("L035"));
  CHECK(chain.engine.diagnostics().size() == 1);
}

TEST_CASE("data files are looked for on request only") {
  TemporaryFolder folder;
  std::filesystem::path spec = folder.write("spec.loop", kTiny);
  CHECK(Analysis(File{spec}).engine.diagnostics().empty());
  folder.write("rows.csv", "x,y\n");
  Analysis asked(File{spec, true});
  CHECK(asked.place("L092") == "\"more.csv\"");
  CHECK(asked.engine.diagnostics().size() == 1);
  folder.write("more.csv", "x,y\n");
  CHECK(Analysis(File{spec, true}).engine.diagnostics().empty());
}
