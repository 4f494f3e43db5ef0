// Random specs for property tests. The same seed gives the same texts on every platform.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>

namespace loop::testing {

class SpecGenerator {
 public:
  explicit SpecGenerator(uint64_t seed) : random_(seed) {}

  /// A text of the language's grammar with any names, nesting, comments, blanks and line breaks: it parses,
  /// it means nothing.
  std::string program();

  /// A complete training loop of known names with random choices in it, neatly written: a starting point for
  /// mutations that should reach past the parser.
  std::string training_loop();

  /// The text with `count` random changes of bytes: removed, inserted, exchanged, doubled stretches.
  std::string mutate(std::string text, int count);

  /// A number in [0, bound).
  uint64_t below(uint64_t bound);

 private:
  bool chance(int percent) { return below(100) < static_cast<uint64_t>(percent); }
  std::string pick(std::initializer_list<std::string_view> choices);

  // program(): appends to out_.
  void statements(int depth, int count, bool one_line);
  void statement(int depth, bool one_line);
  void block(int depth, bool one_line);
  void head(int depth, bool one_line);
  void clause(int depth);
  void args(int depth);
  void expression(int depth);
  void operand(int depth);
  void conditional(int depth);
  void path();
  void name();
  void blank();       // where a blank may stand
  void gap();         // where at least one blank must stand
  void soft_break();  // where a newline does not count
  void statement_end(bool one_line);
  void comment();

  std::mt19937_64 random_;
  std::string out_;
  int open_brackets_ = 0;  // newlines do not count inside
  bool block_follows_ = false;
};

}  // namespace loop::testing
