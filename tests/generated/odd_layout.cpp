#include "tests/generated/odd_layout.h"

#include <initializer_list>
#include <sstream>
#include <string_view>

namespace loop::generated {
namespace {

class Layout {
 public:
  explicit Layout(std::mt19937_64& random) : random_(random) {
    tight_ = chance(30);
    windows_ = chance(10);
  }

  std::string run(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) one_line(line);
    if (chance(20)) out_ += pick({"\n\n", " ", "\t\n", "# end"});
    return out_;
  }

 private:
  uint64_t below(uint64_t bound) { return random_() % bound; }
  bool chance(uint64_t percent) { return below(100) < percent; }
  std::string pick(std::initializer_list<std::string_view> choices) {
    return std::string(*(choices.begin() + static_cast<std::ptrdiff_t>(below(choices.size()))));
  }

  void newline() { out_ += windows_ ? "\r\n" : "\n"; }

  void one_line(const std::string& line) {
    const size_t start = line.find_first_not_of(' ');
    if (start == std::string::npos) {
      newline();
      return;
    }
    out_ += chance(50) ? std::string(start, ' ') : pick({"", " ", "\t", "     "});
    in_text_ = false;
    depth_ = 0;
    bool comment = false;
    for (size_t i = start; i < line.size(); ++i) {
      const char c = line[i];
      if (c == '#' && !in_text_) {
        out_ += line.substr(i);
        comment = true;
        break;
      }
      place(line, i);
    }
    // `a; b` on one line: only where the line says all of a statement.
    const char last = line.back();
    const bool whole = !comment && last != '{' && last != '=' && line.find("if ") == std::string::npos &&
                       line.find("else ") == std::string::npos;
    if (whole && chance(8)) {
      out_ += pick({";", "; ", " ;;"});
      return;
    }
    if (whole && chance(10)) out_ += pick({" ", "\t", ";", "   "});
    newline();
    while (chance(5)) out_ += pick({"\n", "   \n", "# between\n"});
  }

  void place(const std::string& line, size_t i) {
    const char c = line[i];
    if (c == '"' && (i == 0 || line[i - 1] != '\\')) in_text_ = !in_text_;
    if (in_text_ || c == '"') {
      out_ += c;
      return;
    }
    if (c == '(' || c == '[') ++depth_;
    if (c == ')' || c == ']') --depth_;
    if (c == ' ') {
      blank(line, i);
      return;
    }
    out_ += c;
    if (depth_ > 0 && (c == '(' || c == '[' || c == ',') && chance(6)) {
      out_ += pick({"\n", "\n\n", " # inside\n", "\n      "});
    }
  }

  void blank(const std::string& line, size_t i) {
    const auto sign = [](char c) {
      return std::string_view("=+*/^<>,:(){}[]").find(c) != std::string_view::npos;
    };
    // Around signs no blank is needed; `-` and `->` are left alone, since `a -1` and `a - 1` are a matter of
    // words.
    const bool needed = !(sign(line[i + 1]) || sign(line[i - 1]));
    if (!needed && tight_ && chance(60)) return;
    const bool behind_sign = line[i - 1] == '=' && (i < 2 || line[i - 2] == ' ');
    if (behind_sign && chance(5)) {
      out_ += pick({"\n    ", " # value\n  "});
      return;
    }
    out_ += pick({" ", " ", " ", "  ", "\t"});
  }

  std::mt19937_64& random_;
  std::string out_;
  bool tight_ = false;
  bool windows_ = false;
  bool in_text_ = false;
  int depth_ = 0;
};

}  // namespace

std::string lay_out_oddly(const std::string& text, std::mt19937_64& random) {
  return Layout(random).run(text);
}

}  // namespace loop::generated
