// Repairs of texts that others wrote: the wrong examples of the findings' pages, and the corpus of real
// faults.
#include <algorithm>
#include <set>

#include "compiler/fixes/table.h"
#include "tests/unit/fixes/support.h"

using namespace loop;
using namespace loop::tests;

TEST_CASE("the wrong examples of the pages: what is certain is repaired, and nothing is made worse") {
  std::set<std::string> repaired;
  for (const auto& [code, text] : fences("loop wrong")) {
    CAPTURE(code);
    if (!judge(check_repair(text).text).counts.contains(code)) repaired.insert(code);
  }
  // Where the example is one of those that need a choice, a golden text shows the certain repair.
  for (const auto& entry : fs::directory_iterator(kRoot / "tests" / "golden" / "fixes"))
    repaired.insert(entry.path().filename().string().substr(0, 4));
  for (const fixes::Entry& entry : fixes::table()) {
    const std::string id(diagnostics::entry(entry.code).id);
    if (!entry.certain.empty())
      CHECK_MESSAGE(repaired.contains(id), id << " has a certain fix that nothing shows");
  }
}

TEST_CASE(
    "a fix that is offered repairs its finding, and a certain one is the same as the one that is applied") {
  for (const auto& [code, text] : fences("loop wrong")) {
    CAPTURE(code);
    const fixes::Check check = check_text;
    fixes::Checked checked = check(text);
    fixes::attach_fixes(text, checked.file, check, checked.findings);
    for (const diagnostics::Diagnostic& finding : checked.findings) {
      int certain = 0;
      for (const diagnostics::FixIt& fix : finding.fixes) {
        CAPTURE(fix.title);
        const std::optional<std::string> after = fixes::apply_edits(text, fix.edits);
        REQUIRE(after);
        const std::string id(diagnostics::entry(finding.code).id);
        CHECK(judge(*after).counts[id] < judge(text).counts[id]);
        certain += fix.certainty == diagnostics::Certainty::certain;
      }
      CHECK(certain <= 1);
    }
  }
}

TEST_CASE("the corpus of real faults: no repair makes one worse") {
  int faulty = 0;
  int whole = 0;
  std::string which;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(kRoot / "tests" / "faults"))
    if (fs::exists(entry.path() / "faulty.loop")) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  for (const fs::path& folder : folders) {
    CAPTURE(folder.string());
    const fixes::Fixed fixed = check_repair(read(folder / "faulty.loop"));
    ++faulty;
    if (fixed.remaining == 0) ++whole;
    if (fixed.remaining != 0) which += " " + folder.filename().string();
  }
  MESSAGE(whole << " of " << faulty << " are repaired wholly; not:" << which);
  CHECK(2 * whole >= faulty);
}

TEST_CASE("what has no fault stays as it is") {
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "examples")) {
    if (entry.path().extension() != ".loop") continue;
    CAPTURE(entry.path().string());
    const std::string text = read(entry.path());
    CHECK(fix_text(text).text == text);
  }
}
