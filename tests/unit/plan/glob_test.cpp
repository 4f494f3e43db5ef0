#include "runtime/plan/glob.h"

#include <doctest/doctest.h>

#include <string>

using loop::plan::glob_match;

TEST_CASE("globs") {
  CHECK(glob_match("*", ""));
  CHECK(glob_match("**", "x"));
  CHECK(glob_match("*.bias", "blocks.0.mlp.expand.bias"));
  CHECK(glob_match("blocks.*.norm?.weight", "blocks.11.norm2.weight"));
  CHECK(glob_match("a*b*c", "aXbYbZc"));
  CHECK(glob_match("*a*b*", "xxaxxbxx"));
  CHECK(glob_match("a?c", "abc"));
  CHECK_FALSE(glob_match("a?c", "ac"));
  CHECK_FALSE(glob_match("a*b*c", "aXbYbZ"));
  CHECK_FALSE(glob_match("*a*b", "xxaxx"));
  CHECK_FALSE(glob_match("*.bias", "bias"));
  CHECK_FALSE(glob_match("*.bias", "blocks.0.biases"));
  CHECK_FALSE(glob_match("head", "head.weight"));
  CHECK_FALSE(glob_match("", "x"));
}

TEST_CASE("many stars do not take exponential time") {
  CHECK_FALSE(glob_match("*a*a*a*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
  CHECK_FALSE(glob_match(std::string(200, '*') + "b", std::string(5000, 'a')));
}
