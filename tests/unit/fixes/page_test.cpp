// docs/reference/fixes.md is the table, word for word.
#include "compiler/fixes/table.h"
#include "tests/unit/fixes/support.h"

using namespace loop;

TEST_CASE("docs/reference/fixes.md holds the table") {
  const std::string page = tests::read(tests::kRoot / "docs" / "reference" / "fixes.md");
  CHECK_MESSAGE(page.find(fixes::reference_page()) != std::string::npos, "the page should hold:\n"
                                                                             << fixes::reference_page());
}

TEST_CASE("each code has one line, and a line says what it does") {
  const std::vector<fixes::Entry>& all = fixes::table();
  for (size_t i = 0; i < all.size(); ++i) {
    CHECK(fixes::find(all[i].code) == &all[i]);
    CHECK((!all[i].certain.empty() || !all[i].likely.empty()));
  }
}
