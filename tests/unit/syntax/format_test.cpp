// The formatter: golden files a person can read, and properties over generated texts. LOOP_UPDATE_GOLDEN=1
// writes the expected files anew.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/support/golden.h"
#include "tests/support/spec_generator.h"
#include "tests/unit/syntax/parsed.h"

using loop::testing::Parsed;
using loop::testing::SpecGenerator;

namespace {

constexpr uint64_t kPrograms = 3000;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.pop_back();
  return text;
}

std::vector<std::string> comments(const Parsed& parsed) {
  std::vector<std::string> texts;
  for (const auto& comment : parsed.result.file.comments) texts.push_back(trimmed(comment.text));
  return texts;
}

/// Which statement each comment follows: the number of tokens-bearing bytes before it, blanks and `;` not
/// counted.
std::vector<size_t> comment_places(const Parsed& parsed) {
  const std::string& text = parsed.sources.file(parsed.result.file.id).text();
  std::vector<size_t> places;
  size_t at = 0;
  size_t count = 0;
  for (const auto& comment : parsed.result.file.comments) {
    for (; at < comment.span.begin; ++at) {
      const char c = text[at];
      if (c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != ';') ++count;
    }
    places.push_back(count);
    at = comment.span.end;
  }
  return places;
}

}  // namespace

TEST_CASE("formatting: golden files") {
  const std::filesystem::path folder = std::filesystem::path(LOOP_SOURCE_DIR) / "tests/golden/fmt";
  size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const size_t suffix = name.find(".input.loop");
    if (suffix == std::string::npos) continue;
    ++seen;
    const auto expected_path = folder / (name.substr(0, suffix) + ".expected.loop");
    CAPTURE(name);
    const Parsed parsed(read(entry.path()));
    REQUIRE(parsed.findings() == "");
    const std::string formatted = parsed.formatted();
    loop::testing::check_golden(expected_path, formatted);
    CHECK(Parsed(formatted).formatted() == formatted);
  }
  CHECK(seen >= 4);
}

TEST_CASE("formatting changes no meaning, keeps comments in place, and is idempotent") {
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    const std::string text = SpecGenerator(seed).program();
    CAPTURE(seed);
    CAPTURE(text);
    const Parsed before(text);
    REQUIRE(before.findings() == "");
    const std::string formatted = before.formatted();
    CAPTURE(formatted);
    const Parsed after(formatted);
    REQUIRE(after.findings() == "");
    REQUIRE(after.tree() == before.tree());
    REQUIRE(comments(after) == comments(before));
    REQUIRE(comment_places(after) == comment_places(before));
    REQUIRE(after.formatted() == formatted);
    REQUIRE(formatted.find(" \n") == std::string::npos);
    REQUIRE(formatted.find("\n\n\n") == std::string::npos);
    REQUIRE((formatted.empty() || formatted.back() == '\n'));
  }
}

TEST_CASE("formatting of mutated texts that still parse") {
  size_t parsed_count = 0;
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    SpecGenerator generator(seed);
    const std::string text = generator.mutate(generator.training_loop(), 1);
    const Parsed before(text);
    if (before.result.had_errors) continue;
    ++parsed_count;
    CAPTURE(text);
    const std::string formatted = before.formatted();
    const Parsed after(formatted);
    REQUIRE(after.findings() == "");
    REQUIRE(after.tree() == before.tree());
    REQUIRE(comments(after) == comments(before));
    REQUIRE(after.formatted() == formatted);
  }
  CHECK(parsed_count > kPrograms / 10);
}

TEST_CASE("the text of a well written loop stays as it is") {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::string text = SpecGenerator(seed).training_loop();
    CHECK(Parsed(text).formatted() == text);
  }
}
