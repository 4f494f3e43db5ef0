#include <doctest/doctest.h>

#include <fstream>
#include <set>

#include "compiler/operations/table.h"
#include "runtime/plan/names.h"

using namespace loop;

TEST_CASE("every operation stands in the table once, under the plan's spelling") {
  std::set<plan::OpKind> kinds;
  for (const operations::Entry& entry : operations::table()) {
    CHECK(kinds.insert(entry.kind).second);
    CHECK(entry.name == plan::name(entry.kind));
    CHECK(&operations::entry(entry.kind) == &entry);
    CHECK(entry.meaning.back() == '.');
  }
  CHECK(kinds.size() == plan::spellings(plan::OpKind{}).size());
}

TEST_CASE("names") {
  CHECK(operations::find("clip").size() == 2);
  CHECK(operations::find("step").size() == 1);
  CHECK(operations::find("clap").empty());
  const std::vector<std::string> names = operations::names();
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
}

TEST_CASE("the window's end asks for the final gradient") {
  using namespace operations;
  for (const plan::OpKind kind : {plan::OpKind::clip_norm, plan::OpKind::clip_value, plan::OpKind::step}) {
    const unsigned need = entry(kind).gradient_need;
    CHECK((need & kComplete) != 0);
    CHECK((need & kReduced) != 0);
    CHECK((need & kUnscaled) != 0);
    CHECK((need & kNormalized) != 0);
  }
}

TEST_CASE("the reference page is the table") {
  std::ifstream file(LOOP_SOURCE_DIR "/docs/reference/operations.md", std::ios::binary);
  const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  CHECK(page == operations::reference_page());
}
