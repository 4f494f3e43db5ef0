#include "compiler/driver/settings.h"

#include <doctest/doctest.h>

#include <functional>

#include "compiler/driver/context.h"
#include "tests/support/temporary_folder.h"

using namespace loop;
using namespace loop::driver;
using diagnostics::Code;
using diagnostics::Diagnostic;

namespace {

Diagnostic finding(Code code) {
  return {.code = code, .severity = diagnostics::entry(code).severity};
}

std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

Settings of(std::optional<std::vector<std::string>> select, std::optional<std::vector<std::string>> ignore,
            std::optional<std::vector<std::string>> error_on) {
  return Settings({std::move(select), std::move(ignore), std::move(error_on)}, {}, "");
}

}  // namespace

TEST_CASE("settings: codes, names, beginnings, families, severities") {
  const auto selected = [](const std::string& pattern, Code code) {
    return of({{pattern}}, {}, {}).shows(finding(code));
  };
  CHECK(selected("L110", Code::L110));
  CHECK(selected("l110", Code::L110));
  CHECK(selected("clip-before-unscale", Code::L110));
  CHECK_FALSE(selected("L110", Code::L111));
  CHECK(selected("L11", Code::L111));
  CHECK(selected("L3", Code::L301));
  CHECK_FALSE(selected("L3", Code::L204));
  CHECK(selected("L", Code::L204));
  CHECK(selected("normalisation", Code::L301));
  CHECK(selected("names", Code::L062));
  CHECK(selected("allowances", Code::L023));
  CHECK(selected("note", Code::L204));
  CHECK_FALSE(selected("error", Code::L204));
  CHECK(selected("all", Code::L204));
}

TEST_CASE("settings: ignore wins over select; error_on adds to errors; severities there are thresholds") {
  const Settings settings = of({{"L2", "L3"}}, {{"L204"}}, {{"L311"}});
  CHECK(settings.shows(finding(Code::L201)));
  CHECK_FALSE(settings.shows(finding(Code::L204)));
  CHECK_FALSE(settings.shows(finding(Code::L110)));
  CHECK(settings.fails(finding(Code::L110)));
  CHECK(settings.fails(finding(Code::L311)));
  CHECK_FALSE(settings.fails(finding(Code::L312)));
  CHECK(of({}, {}, {{"warning"}}).fails(finding(Code::L203)));
  CHECK_FALSE(of({}, {}, {{"warning"}}).fails(finding(Code::L204)));
  CHECK(of({}, {}, {{"note"}}).fails(finding(Code::L203)));
}

TEST_CASE("settings: an unknown pattern is a usage error with a suggestion") {
  CHECK(message_of([] { of({{"clip-before-unscal"}}, {}, {}); }) ==
        "--select: `clip-before-unscal` is no code, name, family or severity of findings; did you mean "
        "`clip-before-unscale`?");
  CHECK(message_of([] { of({}, {{"L98"}}, {}); }).rfind("--ignore: `L98`", 0) == 0);
  CHECK(message_of([] { of({}, {}, {{"warnings"}}); }).find("did you mean `warning`?") != std::string::npos);
  for (const char* pattern : {"", " ", "L1x", "LL1", "L1100", "Order"})
    CHECK_FALSE(message_of([&] { of({{pattern}}, {}, {}); }).empty());
}

TEST_CASE("settings: every code belongs to one family") {
  for (const auto& entry : diagnostics::catalog()) {
    CAPTURE(entry.id);
    CHECK_NOTHROW(diagnostics::family_of(entry));
  }
}

TEST_CASE("settings: the nearest loop.toml above the spec; the command line replaces key by key") {
  const testing::TemporaryFolder folder;
  std::filesystem::create_directories(std::filesystem::path(folder.path()) / "a" / "b");
  folder.write("loop.toml", "[check]\nignore = [\"L204\"]\nerror_on = [\"note\"]\n");
  folder.write("a/loop.toml", "# nothing is set here\n");
  const std::string outer = folder.write("x.loop", "");
  const std::string inner = folder.write("a/b/x.loop", "");
  SettingsOfFiles stored({});
  CHECK_FALSE(stored.of(outer).shows(finding(Code::L204)));
  CHECK(stored.of(inner).shows(finding(Code::L204)));
  CHECK(stored.of(outer).fails(finding(Code::L311)));
  CHECK_FALSE(stored.of(inner).fails(finding(Code::L311)));
  SettingsOfFiles replaced({.ignore = {{"L311"}}});
  CHECK(replaced.of(outer).shows(finding(Code::L204)));
  CHECK_FALSE(replaced.of(outer).shows(finding(Code::L311)));
  CHECK(replaced.of(outer).fails(finding(Code::L204)));
}

TEST_CASE("settings: what is wrong in loop.toml is said with its place") {
  const testing::TemporaryFolder folder;
  const auto message = [&](const std::string& text) {
    const std::string path = folder.write("loop.toml", text);
    const std::string all = message_of([&] { read_settings(path); });
    return all.rfind(path, 0) == 0 ? all.substr(path.size()) : all;
  };
  CHECK(message("[check]\nignore = [\"L204\"]\n").empty());
  CHECK(message("").empty());
  CHECK(message("[chek]\n") == ":1:2: there is no `chek`; did you mean `check`?");
  CHECK(message("[check]\nignored = []\n") ==
        ":2:1: there is no `ignored` in `[check]`; did you mean `ignore`?");
  CHECK(message("[check]\nxyz = []\n") ==
        ":2:1: there is no `xyz` in `[check]`; known: select, ignore, error_on");
  CHECK(message("[check]\nignore = \"L204\"\n").rfind(":2:10: `ignore` is a list of texts", 0) == 0);
  CHECK(message("[check]\nignore = [1]\n").rfind(":2:11: `ignore` is a list of texts", 0) == 0);
  CHECK(message("check = 1\n") == ":1:9: `check` is a table: `[check]`");
  CHECK(message("[check\n").rfind(":1:", 0) == 0);
  CHECK(message("[check]\nignore = [\"\xff\"]\n").rfind(":2:", 0) == 0);
  folder.write("loop.toml", "[check]\nselect = [\"L98\"]\n");
  const std::string spec = folder.write("x.loop", "");
  SettingsOfFiles settings({});
  CHECK(message_of([&] { settings.of(spec); }).find("loop.toml: `select`: `L98`") != std::string::npos);
}
