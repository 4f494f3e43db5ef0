// The only place that sees the TOML library.
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>

#include "compiler/base/text.h"
#include "compiler/driver/settings.h"
#include "compiler/driver/text_file.h"

namespace loop::driver {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  CheckPatterns read() {
    const std::string text = read_file(path_);
    const toml::parse_result parsed = toml::parse(std::string_view(text), std::string_view(path_));
    if (!parsed) fail(parsed.error().source(), std::string(parsed.error().description()));
    for (const auto& [key, value] : parsed.table()) known(key, {"check"}, "");
    CheckPatterns patterns;
    const toml::node* check = parsed.table().get("check");
    if (check == nullptr) return patterns;
    const toml::table* table = check->as_table();
    if (table == nullptr) fail(check->source(), "`check` is a table: `[check]`");
    for (const auto& [key, value] : *table) {
      known(key, {"select", "ignore", "error_on"}, " in `[check]`");
      auto& list = key == "select" ? patterns.select : key == "ignore" ? patterns.ignore : patterns.error_on;
      list = strings(key, value);
    }
    return patterns;
  }

 private:
  [[noreturn]] void fail(const toml::source_region& place, const std::string& what) const {
    throw UsageError(path_ + ":" + std::to_string(place.begin.line) + ":" +
                     std::to_string(place.begin.column) + ": " + what);
  }

  void known(const toml::key& key, const std::vector<std::string>& keys, const std::string& where) const {
    const std::string written(key.str());
    if (std::find(keys.begin(), keys.end(), written) != keys.end()) return;
    const auto near = base::nearest(written, keys);
    fail(key.source(),
         "there is no `" + written + "`" + where + "; " +
             (near ? "did you mean `" + *near + "`?" : "known: " + base::enumerate(keys, ", ")));
  }

  std::vector<std::string> strings(const toml::key& key, const toml::node& value) const {
    const std::string wanted =
        "`" + std::string(key.str()) + R"(` is a list of texts, such as ["L204", "data"])";
    const toml::array* array = value.as_array();
    if (array == nullptr) fail(value.source(), wanted);
    std::vector<std::string> texts;
    for (const toml::node& element : *array) {
      const auto text = element.value_exact<std::string>();
      if (!text) fail(element.source(), wanted);
      texts.push_back(*text);
    }
    return texts;
  }

  const std::string& path_;
};

}  // namespace

CheckPatterns read_settings(const std::string& path) {
  return Reader(path).read();
}

}  // namespace loop::driver
