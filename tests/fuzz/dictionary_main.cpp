// Prints libFuzzer's dictionary: the language's words, from the tables that define them.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "compiler/operations/table.h"
#include "compiler/sema/keys.h"
#include "compiler/sema/units.h"

namespace fs = std::filesystem;

namespace {

const fs::path kRoot = LOOP_SOURCE_DIR;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void add_matches(std::set<std::string>& words, const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at)
    words.insert(at->str(1));
}

std::string escaped(const std::string& word) {
  std::string result;
  for (const char c : word) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

int main() {
  std::set<std::string> words;
  add_matches(words, read(kRoot / "grammar" / "LoopLexer.g4"), R"(: '([^'\\]+)' ;)");
  for (const loop::sema::BlockTable* table : loop::sema::block_tables()) {
    words.insert(std::string(table->name));
    for (const loop::sema::Key& key : table->keys) {
      words.insert(std::string(key.name));
      const std::string takes = std::string(key.takes) + ' ' + std::string(key.default_text);
      add_matches(words, takes, R"(\b([a-z_]{3,})\b)");
    }
  }
  for (const std::string& name : loop::operations::names()) words.insert(name);
  for (const std::string& unit : loop::sema::unit_names()) words.insert(unit);
  for (const std::string& clock : loop::sema::clock_names()) words.insert(clock);
  // The standard library: what it defines, and the words of its definitions.
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "stdlib")) {
    if (entry.path().extension() != ".loop") continue;
    const fs::path relative = fs::relative(entry.path(), kRoot / "stdlib").replace_extension();
    words.insert("use std." + relative.parent_path().string() + "." + relative.stem().string());
    words.insert(relative.stem().string());
    add_matches(words, read(entry.path()), R"((?:^|\n)([a-z]+) )");
    add_matches(words, read(entry.path()), R"(([a-z_]{3,})(?::|\())");
  }
  for (const std::string& word : words) std::printf("\"%s\"\n", escaped(word).c_str());
  return 0;
}
