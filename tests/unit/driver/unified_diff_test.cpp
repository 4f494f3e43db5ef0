#include "compiler/driver/unified_diff.h"

#include <doctest/doctest.h>

#include <random>
#include <sstream>
#include <vector>

using loop::driver::unified_diff;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::string line;
  for (const char c : text) {
    line += c;
    if (c == '\n') {
      lines.push_back(line);
      line.clear();
    }
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

/// What `patch` does with a diff, strictly: every context and removed line must be where the head of its hunk
/// says.
std::string apply(const std::string& old_text, const std::string& diff) {
  const std::vector<std::string> old_lines = lines_of(old_text);
  std::vector<std::string> script = lines_of(diff);
  std::string result;
  size_t old_at = 0;
  for (size_t i = 2; i < script.size(); ++i) {
    const std::string& line = script[i];
    if (line.rfind("@@", 0) == 0) {
      unsigned long start = 0;
      unsigned long count = 1;
      std::sscanf(line.c_str(), "@@ -%lu,%lu", &start, &count);
      const size_t begin = count == 0 ? start : start - 1;
      while (old_at < begin) result += old_lines.at(old_at++);
      continue;
    }
    std::string content = line.substr(1);
    const bool unended = i + 1 < script.size() && script[i + 1][0] == '\\';
    if (unended) content.pop_back();
    if (line[0] == ' ' || line[0] == '-') CHECK(old_lines.at(old_at++) == content);
    if (line[0] == ' ' || line[0] == '+') result += content;
    if (unended) ++i;
  }
  while (old_at < old_lines.size()) result += old_lines.at(old_at++);
  return result;
}

}  // namespace

TEST_CASE("diff: a change with its context") {
  CHECK(unified_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "a", "b") ==
        "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST_CASE("diff: equal texts, empty texts, a last line without its newline") {
  CHECK(unified_diff("a\n", "a\n", "a", "b").empty());
  CHECK(unified_diff("", "a\n", "a", "b") == "--- a\n+++ b\n@@ -0,0 +1 @@\n+a\n");
  CHECK(unified_diff("a\n", "", "a", "b") == "--- a\n+++ b\n@@ -1 +0,0 @@\n-a\n");
  CHECK(unified_diff("a", "a\n", "a", "b") ==
        "--- a\n+++ b\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
}

TEST_CASE("diff: changes far apart are hunks of their own, near ones share one") {
  std::string old_text;
  for (int i = 1; i <= 40; ++i) old_text += std::to_string(i) + "\n";
  std::string new_text = old_text;
  new_text.replace(new_text.find("\n3\n"), 3, "\nx\n");
  new_text.replace(new_text.find("\n9\n"), 3, "\ny\n");
  new_text.replace(new_text.find("\n30\n"), 4, "\nz\n");
  const std::string diff = unified_diff(old_text, new_text, "a", "b");
  size_t hunks = 0;
  for (size_t at = diff.find("\n@@"); at != std::string::npos; at = diff.find("\n@@", at + 1)) ++hunks;
  CHECK(hunks == 2);
  CHECK(apply(old_text, diff) == new_text);
}

TEST_CASE("diff: applying it gives the new text, for random texts") {
  std::mt19937 random(7);
  const auto text = [&](size_t lines, unsigned letters) {
    std::string result;
    for (size_t i = 0; i < lines; ++i)
      result += std::string(1, static_cast<char>('a' + random() % letters)) + "\n";
    if (random() % 4 == 0 && !result.empty()) result.pop_back();
    return result;
  };
  for (int round = 0; round < 500; ++round) {
    const std::string old_text = text(random() % 30, 1 + random() % 5);
    const std::string new_text = text(random() % 30, 1 + random() % 5);
    const std::string diff = unified_diff(old_text, new_text, "a", "b");
    if (old_text != new_text) REQUIRE(apply(old_text, diff) == new_text);
  }
}

TEST_CASE("diff: texts that differ in more lines than are worth comparing are shown as replaced") {
  std::string old_text = "same\n";
  std::string new_text = "same\n";
  for (int i = 0; i < 5000; ++i) {
    old_text += "old " + std::to_string(i) + "\n";
    new_text += "new " + std::to_string(i) + "\n";
  }
  CHECK(apply(old_text, unified_diff(old_text, new_text, "a", "b")) == new_text);
}
