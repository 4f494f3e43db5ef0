#include "compiler/sema/keys.h"

#include <doctest/doctest.h>

#include <fstream>
#include <set>

#include "tests/unit/sema/analysis.h"

using namespace loop;

TEST_CASE("the reference page holds every table of keys word for word") {
  std::ifstream file(std::string(LOOP_SOURCE_DIR) + "/docs/reference/language.md");
  std::string page((std::istreambuf_iterator<char>(file)), {});
  for (const sema::BlockTable* table : sema::block_tables()) {
    CAPTURE(table->name);
    if (table->keys.empty()) continue;
    std::string text = sema::reference_table(*table);
    CHECK_MESSAGE(page.find(text) != std::string::npos, text);
  }
}

TEST_CASE("names in a table are unique, and required keys say what they mean") {
  for (const sema::BlockTable* table : sema::block_tables()) {
    std::set<std::string_view> names;
    for (const sema::Key& key : table->keys) {
      CHECK(names.insert(key.name).second);
      CHECK_FALSE(key.meaning.empty());
      if (key.form != sema::Form::later) CHECK_FALSE(key.takes.empty());
    }
  }
}

TEST_CASE("the snippets of the reference page are specs without findings") {
  std::ifstream file(std::string(LOOP_SOURCE_DIR) + "/docs/reference/language.md");
  std::string line;
  std::string snippet;
  bool inside = false;
  int count = 0;
  while (std::getline(file, line)) {
    if (inside && line == "```") {
      testing::Analysis analysis(snippet);
      CAPTURE(snippet);
      CAPTURE(analysis.text());
      CHECK(analysis.engine.diagnostics().empty());
      CHECK_FALSE(analysis.result.specs.empty());
      ++count;
      inside = false;
    } else if (inside) {
      snippet += line + "\n";
    } else if (line == "```loop") {
      inside = true;
      snippet.clear();
    }
  }
  CHECK(count == 3);
}
