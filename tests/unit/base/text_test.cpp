// Suggestions and lists in messages, globs.
#include "compiler/base/text.h"

#include <doctest/doctest.h>

using namespace loop::base;

TEST_CASE("edit distance") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("tail", "tail") == 0);
  CHECK(edit_distance("tial", "tail") == 1);  // neighbours exchanged
  CHECK(edit_distance("tal", "tail") == 1);
  CHECK(edit_distance("taill", "tail") == 1);
  CHECK(edit_distance("tool", "tail") == 2);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("sitting", "kitten") == 3);
}

TEST_CASE("the nearest candidate, or none") {
  const std::vector<std::string> keys = {"size", "sync", "tail", "micro_batch"};
  CHECK(nearest("szie", keys) == "size");
  CHECK(nearest("tial", keys) == "tail");
  CHECK(nearest("microbatch", keys) == "micro_batch");
  CHECK(nearest("micro_batches", keys) == "micro_batch");
  CHECK_FALSE(nearest("horizon", keys).has_value());
  CHECK_FALSE(nearest("size", {}).has_value());
}

TEST_CASE("enumerations") {
  CHECK(enumerate({}) == "");
  CHECK(enumerate({"a"}) == "a");
  CHECK(enumerate({"a", "b"}) == "a or b");
  CHECK(enumerate({"a", "b", "c"}) == "a, b or c");
  CHECK(enumerate({"a", "b", "c"}, " and ") == "a, b and c");
}
