#include "tests/support/spec_generator.h"

#include <vector>

namespace loop::testing {

uint64_t SpecGenerator::below(uint64_t bound) {
  return random_() % bound;
}

std::string SpecGenerator::pick(std::initializer_list<std::string_view> choices) {
  return std::string(*(choices.begin() + static_cast<std::ptrdiff_t>(below(choices.size()))));
}

std::string SpecGenerator::program() {
  out_.clear();
  open_brackets_ = 0;
  if (chance(20)) comment();
  statements(0, static_cast<int>(1 + below(6)), false);
  return out_;
}

void SpecGenerator::statements(int depth, int count, bool one_line) {
  for (int i = 0; i < count; ++i) {
    if (i > 0) statement_end(one_line);
    statement(depth, one_line);
  }
  if (chance(30)) statement_end(one_line);
}

void SpecGenerator::statement_end(bool one_line) {
  if (one_line) {
    out_ += pick({";", "; ", " ;", ";;", " ; "});
    return;
  }
  blank();
  if (chance(15)) {
    out_ += pick({";", "; ", ";\n"});
    return;
  }
  if (chance(20)) {
    comment();
  } else {
    out_ += pick({"\n", "\n", "\n\n", "\n\n\n", "\r\n", "  \n\t"});
  }
  while (chance(15)) {
    blank();
    comment();
  }
  blank();
}

void SpecGenerator::statement(int depth, bool one_line) {
  if (chance(8)) {
    out_ += "use";
    gap();
    out_ += pick({"", "", ".", ".."});
    path();
    return;
  }
  if (chance(8)) {
    out_ += "when";
    gap();
    expression(depth + 1);
    blank();
    block(depth, one_line);
    return;
  }
  if (chance(4)) {
    out_ += pick({"use", "when"});
    blank();
    out_ += "=";
    soft_break();
    expression(depth + 1);
    return;
  }
  head(depth, one_line);
}

void SpecGenerator::head(int depth, bool one_line) {
  out_ += pick({"seed", "model", "window", "step", "let", "on", "every", "per", "in", "a", "long_name", "x1",
                "_", "loop", "extends"});
  bool has_name = false;
  const bool has_block = depth < 4 && chance(25);
  block_follows_ = has_block;  // `x =`, newline, `y {` are two statements
  if (chance(25)) {
    gap();
    out_ += pick({"x", "held_out", "adamw", "use", "in", "b2"});
    has_name = true;
  }
  if (chance(25)) {
    blank();
    args(depth + 1);
  }
  if (has_name && chance(15)) {
    gap();
    out_ += "extends";
    gap();
    path();
  }
  if (chance(55)) {
    blank();
    out_ += pick({"=", "=", "=", "<-"});
    soft_break();
    expression(depth + 1);
  }
  while (chance(15)) clause(depth + 1);
  block_follows_ = false;
  if (has_block) {
    blank();
    if (!one_line && chance(5)) out_ += "\n";
    block(depth, one_line);
  }
}

void SpecGenerator::clause(int depth) {
  gap();
  switch (below(4)) {
    case 0:
      out_ += "on";
      gap();
      name();
      while (chance(30)) {
        blank();
        out_ += ",";
        soft_break();
        name();
      }
      return;
    case 1:
      out_ += "every";
      break;
    case 2:
      out_ += "when";
      break;
    default:
      out_ += "per";
      gap();
      if (chance(30)) {
        out_ += pick({"64", "1_000"});
      } else {
        path();
        if (chance(30)) args(depth + 1);
      }
      return;
  }
  gap();
  expression(depth + 1);
}

void SpecGenerator::block(int depth, bool one_line) {
  const bool inner_one_line = one_line || chance(35);
  out_ += "{";
  if (chance(10)) {
    out_ += inner_one_line ? pick({"", " ", ";"}) : pick({"", "\n", " \n\n"});
  } else {
    if (!inner_one_line) statement_end(false);
    blank();
    statements(depth + 1, static_cast<int>(1 + below(4)), inner_one_line);
    if (!inner_one_line && chance(80)) statement_end(false);
  }
  blank();
  out_ += "}";
}

void SpecGenerator::args(int depth) {
  out_ += "(";
  ++open_brackets_;
  const auto count = below(4);
  for (uint64_t i = 0; i < count; ++i) {
    soft_break();
    if (chance(45)) {
      name();
      blank();
      out_ += pick({":", ":", "="});
      soft_break();
    }
    expression(depth + 1);
    if (chance(15)) {
      gap();
      out_ += "in";
      gap();
      out_ += pick({"[", "("});
      expression(depth + 1);
      out_ += ",";
      soft_break();
      expression(depth + 1);
      out_ += pick({"]", ")"});
    }
    if (i + 1 < count || chance(15)) out_ += ",";
  }
  soft_break();
  --open_brackets_;
  out_ += ")";
}

void SpecGenerator::conditional(int depth) {
  out_ += "if";
  gap();
  expression(depth + 1);
  gap();
  soft_break();
  out_ += "then";
  gap();
  expression(depth + 1);
  gap();
  soft_break();
  out_ += "else";
  gap();
  expression(depth + 1);
}

void SpecGenerator::expression(int depth) {
  if (depth < 6 && chance(6)) {
    conditional(depth);
    return;
  }
  operand(depth);
  int comparisons = 0;
  int ranges = 0;
  while (chance(depth < 6 ? 30 : 8)) {
    std::string op = pick({"+", "-", "*", "/", "^", "and", "or", "<", ">=", "==", "!=", "->"});
    const bool comparison = op == "<" || op == ">=" || op == "==" || op == "!=";
    // Neither chains: at most one in a row is always right.
    if (comparison && comparisons++ > 0) op = "+";
    if (op == "->" && ranges++ > 0) op = "*";
    gap();
    if (open_brackets_ > 0 && chance(10)) soft_break();
    out_ += op;
    gap();
    if (chance(10)) soft_break();
    operand(depth);
  }
}

void SpecGenerator::operand(int depth) {
  while (chance(8)) out_ += pick({"-", "not ", "- "});
  switch (below(depth < 6 ? 9 : 5)) {
    case 0:
      out_ += pick({"0", "42", "1_000", "2e-3", "0.5", "1.5E+10"});
      return;
    case 1:
      out_ += pick({"4", "16_384", "0.5"});
      gap();
      out_ += pick({"micro_batches", "tokens", "updates", "min", "MiB"});
      return;
    case 2:
      out_ += pick({"90%", "0.5%"});
      return;
    case 3:
      out_ += pick({R"("")", R"("runs/a b")", R"("q\"\\ # {(")", "\"ü → 漢\"", R"("\u{1F600}\n")"});
      return;
    case 4:
      path();
      return;
    case 5:
    case 6:
      path();
      args(depth + 1);
      return;
    case 7:
      out_ += "(";
      ++open_brackets_;
      soft_break();
      expression(depth + 1);
      soft_break();
      --open_brackets_;
      out_ += ")";
      return;
    default:
      out_ += "[";
      ++open_brackets_;
      const auto count = below(4);
      for (uint64_t i = 0; i < count; ++i) {
        soft_break();
        expression(depth + 1);
        if (i + 1 < count || chance(20)) out_ += ",";
      }
      soft_break();
      --open_brackets_;
      out_ += "]";
  }
}

void SpecGenerator::path() {
  name();
  while (chance(20)) {
    out_ += pick({".", ".", " . "});
    name();
  }
}

void SpecGenerator::name() {
  out_ += pick({"a", "b", "lr", "tokens", "loss_scale", "on", "every", "per", "when", "use", "extends", "in",
                "Z9", "_x"});
}

void SpecGenerator::blank() {
  out_ += pick({"", "", " ", " ", "  ", "\t"});
}
void SpecGenerator::gap() {
  out_ += pick({" ", " ", "  ", "\t"});
}

void SpecGenerator::soft_break() {
  blank();
  if (!chance(12) || (block_follows_ && open_brackets_ == 0)) return;
  if (chance(30)) {
    comment();
  } else {
    out_ += pick({"\n", "\n\n"});
  }
  blank();
}

void SpecGenerator::comment() {
  out_ += pick({"#", "# plain", "# ü → }", "#\"(", "#   spaced   "});
  out_ += pick({"\n", "\n", "\n\n"});
}

std::string SpecGenerator::training_loop() {
  const std::string size = pick(
      {"4 micro_batches", "1 micro_batches", "32 samples", "ramp(1 -> 8 micro_batches, over: 100 updates)"});
  std::string text = "use std.optimizers.adamw\nuse std.optimizers.sgd\n\nloop example {\n";
  text += "  seed  = " + std::to_string(below(10000)) + "\n";
  text += "  model = " +
          pick({"gpt(layers: 2, heads: 2, width: 32, context: 16)",
                "gpt(layers: 1, heads: 1, width: 8, context: 4, dropout: 0.1)"}) +
          "\n\n";
  text += "  data {\n    train       = text(\"corpus.txt\", tokenizer: " + pick({"char", "byte"}) + ")\n";
  text += "    micro_batch = " + std::to_string(1 + below(16)) + " samples\n  }\n\n";
  text += "  loss = cross_entropy(ignore: -100) per " + pick({"tokens", "samples"}) + "\n\n";
  text += "  window {\n    size = " + size + "\n    tail = " + pick({"flush", "carry", "drop"}) + "\n  }\n\n";
  text += "  update {\n";
  std::vector<std::string> operations = {"normalize", "clip(norm: 1.0)",
                                         pick({"step adamw(lr: 1e-3)", "step sgd(lr: 0.1, momentum: 0.9)"}),
                                         "zero_grad"};
  for (const std::string& operation : operations) text += "    " + operation + "\n";
  text += "  }\n\n  stop = " + pick({"100 updates", "2 epochs", "100 updates or 10 min"}) + "\n}\n";
  return text;
}

std::string SpecGenerator::mutate(std::string text, int count) {
  for (int i = 0; i < count; ++i) {
    const size_t at = text.empty() ? 0 : below(text.size());
    switch (below(5)) {
      case 0:
        if (!text.empty()) text.erase(at, 1 + below(4));
        break;
      case 1:
        text.insert(at, pick({"{",   "}",     "(", ")", "[", "]",  "\"", "\n", ";", "=",    "<-",
                              "if ", "else ", "#", ",", "-", "\\", "@",  ".",  "9", "\xC3", "\xFF"}));
        break;
      case 2:
        if (!text.empty()) text[at] = static_cast<char>(below(256));
        break;
      case 3:
        if (!text.empty()) std::swap(text[at], text[below(text.size())]);
        break;
      default:
        text.insert(at, text.substr(below(text.size() + 1), below(12)));
    }
  }
  return text;
}

}  // namespace loop::testing
