#include "compiler/sema/keys.h"

namespace loop::sema {

const BlockTable& loop_table() {
  static const BlockTable table{
      "loop",
      {{"seed", Form::value, "a whole number", "0",
        "Start of every random stream: initial weights, order, dropout."},
       {"device", Form::value, "`auto`, `cpu` or `cuda`", "auto",
        "`auto` takes a GPU if there is one, and says which."},
       {"ranks", Form::value, "a whole number", "any number",
        "How many processes train together. Unset, every rule must hold for any number; a number is checked "
        "at start."},
       {"dtype", Form::value, "`fp32`, `fp64` or `bf16(master: fp32)`", "fp32",
        "The type of the parameters."},
       {"accumulate", Form::value, "`fp32` or `fp64`", "fp32", "The type in which gradients are summed."},
       {"model", Form::value, "a model, as in `gpt(layers: 4, heads: 4, width: 128, context: 64)`", "",
        "What is trained. The standard library has gpt, embedding_classifier, mlp, cnn and linear."},
       {"init", Form::value, "`random` or `weights(\"file.safetensors\")`", "random",
        "Where the first parameters come from."},
       {"batch_norm", Form::value, "`per_micro`, `across_ranks` or `frozen`", "",
        "Which samples share statistics where the model has BatchNorm: it defines the objective."},
       {"data", Form::block, "a block", "", "The sources and how they are cut into micro-batches."},
       {"params", Form::block, "a block", "one group of all",
        "Groups of parameters; every trainable parameter is in exactly one."},
       {"loss", Form::value_or_block, "one term, or a block of named terms, each `per` its unit", "",
        "The objective: each term's sum over its counted units, divided by their number over window and "
        "ranks."},
       {"amp", Form::value,
        "`off`, `bf16` or `fp16(init_scale, growth_factor, backoff_factor, growth_interval, min_scale)`",
        "off", "Mixed precision of forward and loss."},
       {"window", Form::block, "a block", "",
        "How many micro-batches make one update, and what happens at the ends."},
       {"nonfinite", Form::block, "a block", "skip, at most 50 in a row",
        "What a gradient that is not finite does."},
       {"micro", Form::block, "operations", "the canonical order", "What is done with every micro-batch."},
       {"update", Form::block, "operations", "",
        "What is done once per window. At least its `step`s are needed."},
       {"average", Form::named_value, "`ema(decay, buffers)`", "none",
        "An average of the parameters, moved after each applied update."},
       {"stop", Form::value,
        "conditions joined with `or`: `1000 updates`, `90 epochs or 10 h or no_better(held_out.loss, for: 10 "
        "evaluations)`",
        "", "When the run ends."},
       {"evaluate", Form::named_block, "a block", "none", "A measurement on a held-out source."},
       {"checkpoint", Form::value_or_block, "a block, or `off`", "off",
        "Where and when the state of the run is saved."},
       {"resume", Form::value, "`never`, `auto` or a path", "never",
        "Whether the run continues from a checkpoint."},
       {"log", Form::value_or_block, "a block, `on` or `off`", "on", "Where measurements go, and how often."},
       {"check_replicas", Form::value, "a quantity in updates, or `off`", "1000 updates",
        "How often the ranks compare their parameters."},
       {"memory", Form::value, "a quantity of memory, as in `2 GiB`", "none",
        "What a training step may take on each rank: `micro_batch = auto` is the largest that fits."},
       {"shard", Form::later, "", "", "optimizer, gradients or parameters divided among ranks"},
       {"phase", Form::later, "", "", "alternating networks"},
       {"epoch", Form::later, "", "", "an epoch of chosen length"},
       {"skip_if", Form::later, "", "", "skipping updates by a condition on the gradient"},
       {"clamp", Form::later, "", "", "limits on a parameter's value"},
       {"extern", Form::later, "", "", "optimizers written outside the language"},
       {"graphs", Form::later, "", "", "capture of device graphs"}}};
  return table;
}

const BlockTable& data_table() {
  static const BlockTable table{
      "data",
      {{"train", Form::value, "a source, as in `text(\"corpus.txt\", tokenizer: char)`", "",
        "The source that is trained on."},
       {"micro_batch", Form::value, "a quantity in samples, as in `8 samples`, or `auto`", "",
        "How many samples one forward pass takes, per rank. It changes memory and speed, never the objective "
        "(but for models with BatchNorm and losses that couple samples). `auto`: as many as fit into "
        "`memory`."},
       {"order", Form::value, "`shuffled` or `sequential`", "shuffled",
        "The order of the samples in each epoch."},
       {"short", Form::value, "`keep`, `drop` or `pad`", "keep",
        "What happens to the last, short micro-batch of an epoch."},
       {"uneven", Form::value, "`error`, `drop` or `pad_empty`", "error",
        "For sources split by file: what happens when ranks hold unequal numbers of samples."},
       {"epoch", Form::later, "", "", "an epoch of chosen length"},
       {"packing", Form::later, "", "", "several samples in one sequence"}},
      true,
      "a source, as in `valid = text(\"corpus.txt\", tokenizer: char, take: last(10%))`"};
  return table;
}

const BlockTable& window_table() {
  static const BlockTable table{
      "window",
      {{"size", Form::value,
        "a quantity in micro_batches, samples, tokens or positions, or `ramp(1 -> 8 micro_batches, over: "
        "1000 updates)`",
        "",
        "How much data makes one update: `micro_batches` count per rank, `samples`, `tokens` and `positions` "
        "over all ranks."},
       {"sync", Form::value, "`last`, `every` or `manual`", "last",
        "When ranks reduce gradients: once per window, with every micro-batch, or where `reduce` stands."},
       {"reduce", Form::value, "`sum` or `mean`", "sum", "What a reduction over ranks computes."},
       {"tail", Form::value, "`flush`, `carry` or `drop`", "",
        "What happens to an unfinished window at the end of an epoch."},
       {"empty", Form::value, "`skip` or `error`", "skip", "What a window without any counted unit does."},
       {"oom", Form::value, "`error` or `halve`", "error",
        "What running out of memory does: end the run, or replay the window with smaller micro-batches."},
       {"compress", Form::value, "`none` or `bf16`", "none",
        "In which type gradients travel between ranks: their own, exact, or rounded to bf16, half the bytes "
        "of "
        "fp32 and not exact."}}};
  return table;
}

const BlockTable& nonfinite_table() {
  static const BlockTable table{
      "nonfinite",
      {{"action", Form::value, "`skip` or `stop`", "skip",
        "Whether an update whose gradient is not finite is left out or ends the run."},
       {"limit", Form::value, "a whole number", "50",
        "How many updates in a row may be left out before the run fails."}}};
  return table;
}

const BlockTable& evaluate_table() {
  static const BlockTable table{
      "evaluate",
      {{"on", Form::value, "a source of `data`", "", "What is measured on."},
       {"every", Form::value, "a quantity on a clock, as in `200 updates`; several joined with `or`",
        "at the end only", "How often."},
       {"limit", Form::value, "a quantity in micro_batches", "the whole source",
        "How much of the source is read."},
       {"metrics", Form::value, "a list, as in `[loss, accuracy]`", "[loss]",
        "What is measured: loss, a term's name, accuracy, perplexity."},
       {"also", Form::value, "a list of `start` and `end`", "[]", "Further moments."},
       {"with", Form::value, "`model` or an average's name", "model", "Which parameters are measured."}}};
  return table;
}

const BlockTable& checkpoint_table() {
  static const BlockTable table{
      "checkpoint",
      {{"path", Form::value, "a folder", "", "Where checkpoints are written."},
       {"every", Form::value, "quantities joined with `or`, as in `500 updates or 10 min`", "", "How often."},
       {"keep", Form::value, "`last(3)`, `best(held_out.loss)` or both with `+`", "all",
        "Which of them are kept."},
       {"on_signal", Form::value, "`true` or `false`", "false",
        "Whether an interrupted run saves one more."}}};
  return table;
}

const BlockTable& log_table() {
  static const BlockTable table{"log",
                                {{"path", Form::value, "a folder", "runs/NAME",
                                  "Where metrics, the resolved spec and the plan are written."},
                                 {"every", Form::value, "a quantity on a clock, as in `10 updates`",
                                  "every update", "How often an update is written down."}}};
  return table;
}

const BlockTable& params_table() {
  static const BlockTable table{"params", {}, true, "a predicate, as in `decayed = ndim >= 2`"};
  return table;
}

const BlockTable& loss_table() {
  static const BlockTable table{
      "loss", {}, true, "a term, as in `main = cross_entropy(ignore: -100) per tokens`"};
  return table;
}

const std::vector<const BlockTable*>& block_tables() {
  static const std::vector<const BlockTable*> tables = {
      &loop_table(),       &data_table(), &window_table(), &nonfinite_table(), &evaluate_table(),
      &checkpoint_table(), &log_table(),  &params_table(), &loss_table()};
  return tables;
}

const Key* find_key(const BlockTable& table, std::string_view name) {
  for (const Key& key : table.keys)
    if (key.name == name) return &key;
  return nullptr;
}

std::string reference_table(const BlockTable& table) {
  std::string text = "| key | takes | default | meaning |\n|---|---|---|---|\n";
  for (const Key& key : table.keys) {
    if (key.form == Form::later) continue;
    std::string written = key.form == Form::named_block || key.form == Form::named_value
                              ? std::string(key.name) + " NAME"
                              : std::string(key.name);
    text += "| `" + written + "` | " + std::string(key.takes) + " | " +
            (key.default_text.empty() ? "—" : std::string(key.default_text)) + " | " +
            std::string(key.meaning) + " |\n";
  }
  if (table.free_names) text += "| any other name | " + std::string(table.free_takes) + " | | |\n";
  return text;
}

std::vector<std::string> key_names(const BlockTable& table) {
  std::vector<std::string> names;
  for (const Key& key : table.keys)
    if (key.form != Form::later) names.emplace_back(key.name);
  return names;
}

}  // namespace loop::sema
