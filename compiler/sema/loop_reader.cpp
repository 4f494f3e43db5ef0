#include "compiler/sema/loop_reader.h"

#include <algorithm>

#include "compiler/sema/descriptors.h"
#include "compiler/sema/groups.h"
#include "compiler/sema/loss_terms.h"
#include "compiler/sema/program.h"
#include "compiler/sema/settings.h"

namespace loop::sema {

using diagnostics::Code;

namespace {

const std::vector<std::string>& required_keys() {
  static const std::vector<std::string> keys = {"model", "data", "loss", "window", "update", "stop"};
  return keys;
}

void missing_stop(Context& context, const BlockReader& loop) {
  if (loop.was_misspelt("stop")) return;
  context.engine.report(Code::L081, loop.place())
      .help("`stop = 1000 updates`: so many applied updates; schedules can use it as `horizon`")
      .help("`stop = 90 epochs`: so many passes over the training source")
      .help(
          "`stop = 10 h` or `no_better(held_out.loss, for: 10 evaluations)`: joined with `or`, whichever "
          "comes first");
}

/// The model's arguments still tell its shape when only the data is missing, so every part is read whatever
/// else is wrong.
class LoopReader {
 public:
  LoopReader(Context& context, const LoopTree& tree)
      : context_(context), block_(context, loop_table(), tree.items, tree.name_span) {
    spec_.file = tree.name_span.file;
    spec_.name = tree.name;
    spec_.name_span = tree.name_span;
    spec_.span = tree.span;
  }

  std::optional<Spec> read() {
    read_simple_keys(context_, block_, spec_);
    read_amp(context_, block_.find("amp"), block_.place(), spec_);
    read_nonfinite(context_, block_.find("nonfinite"), block_.place(), spec_);
    read_log(context_, block_.find("log"), block_.place(), spec_);
    read_averages(context_, block_, spec_);
    model();
    data();
    objective();
    groups();
    window();
    read_evaluations(context_, block_, metrics_, spec_);
    read_checkpoint(context_, block_.find("checkpoint"), block_.place(), spec_);
    stop();
    programs();
    if (!understood_) return std::nullopt;
    return std::move(spec_);
  }

 private:
  void model() {
    const ast::Head* head = block_.find("model");
    if (!head) {
      block_.missing("model", {"such as `gpt(layers: 4, heads: 4, width: 128, context: 64)`, `mlp(hidden: "
                               "[128, 128])`, `cnn(channels: [32, 64])` or `linear()`"});
      understood_ = false;
      return;
    }
    auto model = read_model(context_, *head->value);
    if (model)
      spec_.model = std::move(*model);
    else
      understood_ = false;
    model_read_ = model.has_value();
  }

  void data() {
    const ast::Head* head = block_.find("data");
    if (!head) {
      block_.missing(
          "data",
          {"such as `data { train = text(\"corpus.txt\", tokenizer: char); micro_batch = 8 samples }`"});
      understood_ = false;
      return;
    }
    ModelFacts facts = spec_.model.facts;
    // A model that could not be read is no reason to ask for what it would have given.
    if (!model_read_) facts.context = 1;
    if (!read_data(context_, *head, facts, spec_)) understood_ = false;
    if (spec_.data.micro_batch_auto && !block_.find("memory"))
      block_.missing("memory", {"`micro_batch = auto` takes as many samples as fit into it"});
  }

  void objective() {
    const ast::Head* head = block_.find("loss");
    if (!head) {
      block_.missing(
          "loss",
          {"such as `loss = cross_entropy(ignore: -100) per tokens`: a mean over the window's counted tokens",
           "such as `loss = mse() per samples`: a mean over the window's samples"});
      understood_ = false;
      return;
    }
    spec_.loss_span = head->keyword.span;
    auto objective = read_loss(context_, *head);
    if (!objective) {
      understood_ = false;
      return;
    }
    spec_.terms = std::move(objective->terms);
    spec_.count_classes = std::move(objective->classes);
    metrics_ = std::move(objective->metrics);
  }

  void groups() {
    const ast::Head* head = block_.find("params");
    spec_.params_span = head ? head->keyword.span : block_.place();
    auto groups = read_groups(context_, head, spec_.model.facts, block_.place());
    groups_read_ = groups.has_value();
    if (groups)
      spec_.groups = std::move(*groups);
    else
      understood_ = false;
  }

  void window() {
    const ast::Head* head = block_.find("window");
    if (!head) {
      block_.missing("window", {"such as `window { size = 4 micro_batches; tail = flush }`"});
      understood_ = false;
      return;
    }
    bool finite =
        spec_.data.train >= 0 && spec_.data.sources[static_cast<size_t>(spec_.data.train)].facts.finite;
    window_read_ = read_window(context_, *head, finite, spec_);
    if (!window_read_) understood_ = false;
  }

  void stop() {
    const ast::Head* head = block_.find("stop");
    spec_.stop_span = block_.place();
    if (!head) return missing_stop(context_, block_);
    read_stop(context_, *head->value, spec_);
  }

  void programs() {
    const ast::Head* update = block_.find("update");
    if (!update) {
      block_.missing("update", {"such as `update { step adamw(lr: 1e-3) }`: the compiler writes the rest of "
                                "the canonical order around the steps"});
      understood_ = false;
    }
    // Names of groups and counts are only judged when they could be read.
    if (!groups_read_ || spec_.count_classes.empty()) return;
    ProgramSurroundings around;
    around.groups = &spec_.groups;
    around.count_classes = &spec_.count_classes;
    around.averages = &spec_.averages;
    around.window_unit = window_read_ ? spec_.window.size.value.unit : plan::WindowSize::Unit::micro_batches;
    around.amp = spec_.amp.value.mode;
    around.sync = spec_.window.sync.value;
    around.reduce = spec_.window.reduce.value;
    auto programs = read_programs(context_, block_.find("micro"), update, around, spec_.name_span);
    if (!programs) {
      understood_ = false;
      return;
    }
    spec_.micro = std::move(programs->micro);
    spec_.update = std::move(programs->update);
    spec_.rules = std::move(programs->rules);
    spec_.schedules = std::move(programs->schedules);
  }

  Context& context_;
  BlockReader block_;
  Spec spec_;
  std::vector<std::string> metrics_;
  bool understood_ = true;
  bool model_read_ = false;
  bool groups_read_ = false;
  bool window_read_ = false;
};

}  // namespace

std::optional<Spec> read_loop(Context& context, const LoopTree& tree) {
  return LoopReader(context, tree).read();
}

bool is_incomplete(const LoopTree& tree) {
  return !std::all_of(required_keys().begin(), required_keys().end(), [&](const std::string& key) {
    return std::any_of(tree.items.begin(), tree.items.end(), [&](const ast::ItemPtr& item) {
      const auto* head = std::get_if<ast::Head>(&item->node);
      return head && head->keyword.text == key;
    });
  });
}

}  // namespace loop::sema
