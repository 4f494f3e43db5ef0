#include "tests/generated/spec_source.h"

#include <algorithm>
#include <initializer_list>
#include <random>
#include <string_view>

#include "compiler/operations/table.h"
#include "compiler/sema/keys.h"
#include "compiler/sema/units.h"
#include "tests/generated/odd_layout.h"

namespace loop::generated {
namespace {

using plan::OpKind;

/// Writes one spec, neatly; how much of it is wrong is drawn once per spec.
class Writer {
 public:
  explicit Writer(uint64_t seed) : random_(seed) {
    slips_per_thousand_ = chance(50) ? 0 : chance(50) ? 10 : 60;
  }

  GeneratedSpec run() {
    fits_ = chance(60);
    family_ = below(3);
    imports();
    definitions();
    const bool extends = chance(15);
    if (extends) {
      line("loop base {");
      body();
      line("}");
      line("");
      line("loop example extends base {");
      changes();
      line("}");
    } else if (chance(15)) {
      line("recipe shape(width = 32, rate = 0.1 in (0, 1], budget_of_recipe = 100 updates) {");
      body();
      line("}");
      line("");
      if (chance(50)) {
        line("loop example = shape(width: 64, rate: 0.5)");
      } else {
        line("loop example = shape(rate: 0.01) {");
        changes();
        line("}");
      }
    } else {
      line("loop example {");
      body();
      line("}");
    }
    GeneratedSpec spec;
    spec.text = chance(60) ? lay_out_oddly(text_, random_) : text_;
    while (chance(20)) spec.overrides.push_back(override_text());
    return spec;
  }

 private:
  uint64_t below(uint64_t bound) { return random_() % bound; }
  bool chance(uint64_t percent) { return below(100) < percent; }
  /// A mistake is made here.
  bool slip() { return below(1000) < slips_per_thousand_; }
  template <class List>
  std::string any(const List& list) {
    return std::string(*(std::begin(list) + static_cast<std::ptrdiff_t>(below(std::size(list)))));
  }
  std::string pick(std::initializer_list<std::string_view> list) { return any(list); }

  void line(const std::string& text) {
    if (!text.empty()) text_.append(indent_ * 2, ' ');
    text_ += text;
    if (!text.empty() && chance(5))
      text_ += "  " + pick({"# why", "# ü → }", "#", "# loop: allow(L203, reason: \"measured\")"});
    text_ += '\n';
    if (chance(3)) text_ += "\n";
    if (chance(2))
      text_ += std::string(indent_ * 2, ' ') + pick({"# a note", "## heading {", "#\t\"x"}) + "\n";
  }

  /// `key = value`, or now and then something that is not right.
  void setting(const std::string& block, const std::string& key) {
    std::string name = key;
    if (slip()) name = misspelled(name);
    line(name + " = " + value(block, key));
    if (slip()) line(name + " = " + value(block, key));
  }

  std::string value(const std::string& block, const std::string& key) {
    const std::string full = block.empty() ? key : block + "." + key;
    const std::vector<std::string>& right = values_of(full);
    std::string written = fits_ ? fitting(full) : "";
    if (written.empty()) written = right.empty() ? "1" : any(right);
    if (slip()) written = wrong_value();
    if (slip()) written = misspelled(written);
    return written;
  }

  /// Model, data and loss that go together, and what else has to fit; empty where anything does.
  std::string fitting(const std::string& key) {
    const bool tokens = family_ == 0;
    const bool images = family_ == 1;
    if (key == "model") {
      return tokens   ? pick({"gpt(layers: 2, heads: 2, width: 32, context: 16)",
                              "gpt(layers: 1, heads: 1, width: 8, context: 4, tied: true)"})
             : images ? pick({"cnn(channels: [8, 16], hidden: 32)", "cnn(channels: [8])"})
                      : pick({"mlp(hidden: [32, 16], activation: gelu)", "linear()"});
    }
    if (key == "data.train") {
      return tokens   ? pick({R"(text("corpus.txt", tokenizer: char))", R"(bin("shards/*.bin", length: 16))"})
             : images ? R"(idx(images: "x.gz", labels: "y.gz"))"
                      : R"(csv("rows.csv", target: "y", task: classification))";
    }
    if (key == "loss")
      return tokens ? "cross_entropy(ignore: -100) per tokens" : "cross_entropy() per samples";
    if (key == "window.size") return pick({"4 micro_batches", "1 micro_batch", "2 micro_batches"});
    if (key == "stop") return pick({"1000 updates", "2 epochs", "100 updates or 10 min"});
    if (key == "window.sync") return "last";
    if (key == "dtype") return "fp32";
    if (key == "evaluate.on") return "valid";
    if (key == "evaluate.with") return "model";
    if (key == "checkpoint.keep") return "last(3)";
    if (key == "evaluate.metrics") return "[loss]";
    if (key == "amp") return "fp16(init_scale: 65536)";
    return "";
  }

  std::string wrong_value() {
    const std::string unit = any(sema::unit_names());
    switch (below(8)) {
      case 0:
        return std::to_string(below(100)) + " " + unit;
      case 1:
        return "-1";
      case 2:
        return "0 " + unit;
      case 3:
        return "1e300 * 1e300";
      case 4:
        return "[]";
      case 5:
        return "if 1 < 2 then " + unit + " else nothing(1, b: 2)";
      case 6:
        return pick({"\"text\"", "\"\"", "\"{x}\\n\"", "90%", "150%", "1 -> 2", "not x", "a.b.c"});
      default:
        return pick({"5 updates + 3 samples", "1 / 0", "updates", "horizon", "(((1)))", "-(-3)", "2 ^ 3 ^ 2",
                     "cpu(1)"});
    }
  }

  std::string misspelled(std::string word) {
    if (word.empty()) return word;
    const size_t at = below(word.size());
    switch (below(3)) {
      case 0:
        word.erase(at, 1);
        break;
      case 1:
        word.insert(at, 1, "ax9_("[below(5)]);
        break;
      default:
        std::swap(word[at], word[below(word.size())]);
    }
    return word;
  }

  void imports() {
    for (const char* path : {"std.optimizers.adamw", "std.optimizers.sgd", "std.schedules.warmup_cosine",
                             "std.schedules.cosine"}) {
      if (slip()) continue;
      line("use " + (slip() ? misspelled(path) : std::string(path)));
    }
    if (slip())
      line(
          pick({"use .nowhere", "use ..up", "use std", "use std.optimizers.adamw.adamw", "use other.thing"}));
    line("");
  }

  void definitions() {
    line("const budget      = " + pick({"2000 updates", "10 epochs", "100 * 2 updates"}));
    line("const seed_of_all = " + pick({"7", "3 * 5", "mod(17, 5)"}));
    if (chance(25)) {
      line("");
      line("optimizer own(lr in [0, inf), beta = 0.9 in [0, 1)) {");
      ++indent_;
      line("state m");
      if (chance(40)) line("needs norm(param)");
      line("let u = beta * m + (1 - beta) * grad");
      line("m <- u");
      line("param <- param - lr * " +
           pick({"u", "sign(u)", "(u + 0.1 * param)", "u / (sqrt(abs(u)) + 1e-8)"}));
      --indent_;
      line("}");
    }
    if (chance(25)) {
      line("");
      line("schedule bent(clock, peak, total) =");
      line("  if clock < 0.1 * total then peak * (clock + 1) / (0.1 * total)");
      line("  else peak * " +
           pick({"0.5 * (1 + cos(pi * min(clock / total, 1)))", "(1 - clock / total) ^ 2"}));
    }
    line("");
  }

  bool keeps_required() { return !slip(); }

  /// Keys that say nothing, or something wrong, about a loop whose parts fit.
  bool out_of_place(const std::string& name) {
    return fits_ && (name == "batch_norm" || name == "uneven" || name == "micro" || name == "ranks" ||
                     name == "resume");
  }

  void body() {
    ++indent_;
    for (const sema::Key& key : sema::loop_table().keys) {
      const std::string name(key.name);
      if (out_of_place(name)) continue;
      const bool required = name == "model" || name == "data" || name == "loss" || name == "window" ||
                            name == "update" || name == "stop";
      if (required ? !keeps_required()
                   : !chance(name == "params" || name == "evaluate" || name == "amp" ? 50 : 20))
        continue;
      loop_key(key);
      if (chance(20)) line("");
    }
    --indent_;
  }

  /// What stands in a loop that extends another.
  void changes() {
    ++indent_;
    for (const sema::Key& key : sema::loop_table().keys) {
      if (chance(12)) loop_key(key);
    }
    --indent_;
  }

  void loop_key(const sema::Key& key) {
    const std::string name(key.name);
    if (key.form == sema::Form::later) {
      if (slip()) line(name + " = 1");
      return;
    }
    if (name == "data") return data();
    if (name == "params") return params();
    if (name == "micro") return program("micro", false);
    if (name == "update") return program("update", true);
    if (name == "loss") return loss();
    if (name == "average") return line("average slow = " + value("", "average"));
    if (name == "window" || name == "nonfinite") return plain_block(name, name);
    if (name == "evaluate") return plain_block("evaluate", "evaluate held_out");
    const bool as_block = (name == "checkpoint" || name == "log") && chance(70);
    if (as_block) return plain_block(name, name);
    setting("", name);
  }

  const sema::BlockTable& table_of(const std::string& block) {
    for (const sema::BlockTable* table : sema::block_tables())
      if (table->name == block) return *table;
    return sema::loop_table();
  }

  void plain_block(const std::string& block, const std::string& head) {
    line((slip() ? misspelled(head) : head) + " {");
    ++indent_;
    for (const sema::Key& key : table_of(block).keys) {
      const std::string name(key.name);
      const bool needed = name == "size" || name == "tail" || name == "on" || name == "path" ||
                          name == "action" || (block == "checkpoint" && name == "every");
      if (key.form != sema::Form::later && (needed ? keeps_required() : chance(30))) setting(block, name);
    }
    if (slip()) line("unknown_key = 3");
    --indent_;
    line("}");
  }

  void data() {
    line("data {");
    ++indent_;
    for (const sema::Key& key : sema::data_table().keys) {
      const std::string name(key.name);
      const bool needed = name == "train" || name == "micro_batch";
      if (key.form != sema::Form::later && !out_of_place(name) && (needed ? keeps_required() : chance(25)))
        setting("data", name);
      if (name == "train" && !slip()) line("valid = " + value("data", "train"));
    }
    --indent_;
    line("}");
  }

  void params() {
    groups_ = {};
    line("params {");
    ++indent_;
    const bool usual = fits_ || chance(70);
    const uint64_t count = 1 + below(4);
    for (uint64_t i = 0; i < (usual ? 1 : count); ++i) {
      groups_.push_back("g" + std::to_string(i));
      line(groups_.back() + " = " + (usual ? "ndim >= 2" : any(values_of("params"))));
    }
    groups_.push_back("rest");
    line("rest = others");
    --indent_;
    line("}");
  }

  void loss() {
    if (fits_ || chance(65)) return setting("", "loss");
    line("loss {");
    ++indent_;
    const uint64_t count = 1 + below(3);
    for (uint64_t i = 0; i < count; ++i)
      line("term_" + std::to_string(i) + " = " + (chance(30) ? "0.1 * " : "") + value("", "loss"));
    --indent_;
    line("}");
  }

  std::string rate() {
    if (fits_) return pick({"1e-3", "0.1", "warmup_cosine(peak: 2e-3, warmup: 10%, total: horizon)"});
    return pick({"1e-3", "0.1", "warmup_cosine(peak: 2e-3, warmup: 10%, total: horizon)",
                 "cosine(peak: 0.1, total: budget)",
                 "warmup_cosine(peak: 1e-3, floor: 1e-5, warmup: 100 updates, total: 1000 updates)",
                 "bent(peak: 0.1, total: horizon)", "0.5 * cosine(peak: 0.1, total: 1000 updates)"});
  }

  std::string rule() {
    switch (below(fits_ ? 3 : 4)) {
      case 0:
        return "adamw(lr: " + rate() + ", weight_decay: 0.1)";
      case 1:
        return "sgd(lr: " + rate() + ", momentum: 0.9)";
      case 2:
        return "adamw(lr: " + rate() + ", beta1: 0.9, beta2: 0.99)";
      default:
        return "own(lr: " + rate() + ")";
    }
  }

  std::string factor() {
    return pick({"loss_scale", "1 / micro_batches", "1 / micro_batches.counted", "ranks", "1 / tokens.global",
                 "samples.rank / samples.global", "2 * loss_scale / ranks", "1 / tokens.micro", "0.5",
                 "ranks ^ 2 / 4"});
  }

  std::string on_groups() {
    if (groups_.empty() || chance(30)) return "";
    std::string text = " on " + any(groups_);
    while (chance(20)) text += ", " + any(groups_);
    return text;
  }

  std::string operation(const operations::Entry& entry) {
    const std::string name(entry.name);
    switch (entry.kind) {
      case OpKind::loss:
        return pick({"loss", "loss", "loss(mean)", "loss(normalized)"});
      case OpKind::scale_loss:
      case OpKind::scale_grad:
        return name + "(" + factor() + ")";
      case OpKind::reduce:
        return pick({"reduce(sum)", "reduce(mean)"});
      case OpKind::clip_norm:
        return "clip(norm: " + pick({"1.0", "0.5", "10"}) + ")" + on_groups();
      case OpKind::clip_value:
        return "clip(value: " + pick({"1.0", "0.5"}) + ")" + on_groups();
      case OpKind::step:
        return "step " + rule() + on_groups();
      case OpKind::tick:
        return "tick " + any(sema::clock_names());
      case OpKind::average:
        return "average slow";
      default:
        return name;
    }
  }

  std::string guard() {
    return pick({"last", "first", "not last", "finite", "tokens.global > 0", "updates > 100",
                 "tokens.rank == 0 or last", "not (finite and last)"});
  }

  void random_operations(bool update, int depth) {
    const uint64_t count = 1 + below(5);
    for (uint64_t i = 0; i < count; ++i) {
      const operations::Entry& entry = operations::table()[below(operations::table().size())];
      const bool here =
          entry.where == operations::Where::both || (entry.where == operations::Where::update) == update;
      if (!here && !chance(10)) continue;
      if (entry.encloses) {
        if (depth > 2) continue;
        const std::string head = entry.kind == OpKind::when ? "when " + guard()
                                 : entry.kind == OpKind::sync_on
                                     ? "sync_on(" + pick({"last", "first", "every", "none"}) + ")"
                                     : std::string(entry.name);
        line(head + " {");
        ++indent_;
        random_operations(update, depth + 1);
        --indent_;
        line("}");
      } else {
        line(operation(entry));
      }
    }
  }

  void steps() {
    if (groups_.empty()) return line("step " + rule());
    for (const std::string& group : groups_)
      if (keeps_required()) line("step " + rule() + " on " + group);
  }

  void program(const std::string& name, bool update) {
    line(name + " {");
    ++indent_;
    if (chance(fits_ ? 4 : 20)) {
      random_operations(update, 0);
    } else if (!update) {
      line("sync_on(last) {");
      ++indent_;
      line("autocast { forward; loss }");
      if (chance(70)) line("scale_loss(" + (slip() ? factor() : std::string("loss_scale")) + ")");
      if (keeps_required()) line("backward");
      --indent_;
      line("}");
    } else {
      const bool only_steps = chance(fits_ ? 80 : 40);
      if (!only_steps && chance(60)) line("unscale");
      if (!only_steps && keeps_required()) line("normalize");
      if (!only_steps && chance(60)) line("clip(norm: 1.0)");
      if (slip()) random_operations(true, 1);
      steps();
      if (!only_steps && chance(60)) line("update_scale");
      if (!only_steps && keeps_required()) line("zero_grad");
    }
    --indent_;
    line("}");
  }

  std::string override_text() {
    const sema::BlockTable& table = *sema::block_tables()[below(sema::block_tables().size())];
    if (table.keys.empty()) return "params.g0=" + any(values_of("params"));
    const sema::Key& key = table.keys[below(table.keys.size())];
    const std::string block = &table == &sema::loop_table() ? "" : std::string(table.name);
    const std::string path = block == "evaluate" ? "evaluate.held_out." : block.empty() ? "" : block + ".";
    return path + std::string(key.name) + "=" + value(block, std::string(key.name));
  }

  std::mt19937_64 random_;
  std::string text_;
  size_t indent_ = 0;
  bool fits_ = false;    // a loop a person could have meant
  uint64_t family_ = 0;  // tokens, images or rows
  uint64_t slips_per_thousand_ = 0;
  std::vector<std::string> groups_;
};

}  // namespace

GeneratedSpec generate(uint64_t seed) {
  return Writer(seed).run();
}

}  // namespace loop::generated
