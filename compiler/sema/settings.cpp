#include "compiler/sema/settings.h"

#include <cmath>

#include "compiler/base/text.h"
#include "runtime/plan/names.h"

namespace loop::sema {

using diagnostics::Code;

namespace {

/// The enumerator a name stands for.
template <class Enum>
std::optional<Enum> read_enum(Context& context, const ast::Expr& expr, const std::string& what,
                              const std::vector<std::string>& choices) {
  auto choice = read_choice(context, expr, what, choices);
  if (!choice) return std::nullopt;
  return plan::from_spelling<Enum>(*choice);
}

template <class T, class U>
void set(Setting<T>& setting, const std::optional<U>& value, Span span) {
  setting.span = span;
  setting.written = true;
  if (value) setting.value = *value;
}

void read_dtype(Context& context, const ast::Head& head, Spec& spec) {
  const ast::Expr& value = *head.value;
  if (const ast::Call* call = as_call(value)) {
    if (call->callee.dotted() != "bf16") {
      read_choice(context, value, "dtype", {"fp32", "fp64", "bf16(master: fp32)"});
      return;
    }
    NamedArguments matched = match_arguments(context, call->args, "bf16", {"master"}, 0);
    if (matched.good && matched.values[0])
      read_choice(context, *matched.values[0]->value, "master", {"fp32"});
    set(spec.dtype, std::optional(plan::Dtype::bf16), value.span);
    return;
  }
  if (as_name(value) == "bf16") {
    auto& finding = context.engine.report(Code::L067, value.span, {"master", "bf16"});
    finding.help("write `bf16(master: fp32)`: updates are too small for bf16, so an fp32 copy takes them");
    finding.fix(
        {"write `bf16(master: fp32)`", diagnostics::Certainty::likely, {{value.span, "bf16(master: fp32)"}}});
    return;
  }
  set(spec.dtype, read_enum<plan::Dtype>(context, value, "dtype", {"fp32", "fp64"}), value.span);
}

void read_init(Context& context, const ast::Head& head, Spec& spec) {
  const ast::Expr& value = *head.value;
  const ast::Call* call = as_call(value);
  if (!call) {
    read_choice(context, value, "init", {"random"});
    return;
  }
  if (call->callee.dotted() != "weights" || call->args.size() != 1 || call->args[0].name) {
    context.engine.report(Code::L050, value.span,
                          {"`random` or `weights(\"file.safetensors\")` for `init`", describe(value)});
    return;
  }
  set(spec.init_weights, read_text(context, *call->args[0].value, "init"), value.span);
}

}  // namespace

void read_simple_keys(Context& context, const BlockReader& loop, Spec& spec) {
  for (Span* span : {&spec.seed.span, &spec.device.span, &spec.ranks.span, &spec.dtype.span,
                     &spec.accumulate.span, &spec.memory_bytes.span, &spec.init_weights.span,
                     &spec.batch_norm.span, &spec.resume.span, &spec.check_replicas_updates.span})
    *span = loop.place();
  spec.resume.value = "never";
  spec.check_replicas_updates.value = 1000;

  if (const ast::Head* head = loop.find("seed"))
    if (auto value = read_whole(context, *head->value, "seed", 0))
      set(spec.seed, std::optional(static_cast<uint64_t>(*value)), head->value->span);
  if (const ast::Head* head = loop.find("device")) {
    if (auto choice = read_choice(context, *head->value, "device", {"auto", "cpu", "cuda"}))
      set(spec.device,
          std::optional(*choice == "auto"  ? plan::Device::automatic
                        : *choice == "cpu" ? plan::Device::cpu
                                           : plan::Device::cuda),
          head->value->span);
  }
  if (const ast::Head* head = loop.find("ranks"))
    if (auto value = read_whole(context, *head->value, "ranks", 1)) set(spec.ranks, value, head->value->span);
  if (const ast::Head* head = loop.find("dtype")) read_dtype(context, *head, spec);
  if (const ast::Head* head = loop.find("accumulate"))
    set(spec.accumulate, read_enum<plan::Dtype>(context, *head->value, "accumulate", {"fp32", "fp64"}),
        head->value->span);
  else if (spec.dtype.value == plan::Dtype::fp64)
    spec.accumulate.value = plan::Dtype::fp64;
  if (const ast::Head* head = loop.find("memory"))
    if (auto quantity = read_quantity(context, *head->value, "memory", {Dim::bytes}))
      set(spec.memory_bytes, std::optional(quantity->value), head->value->span);
  if (const ast::Head* head = loop.find("init")) read_init(context, *head, spec);
  if (const ast::Head* head = loop.find("batch_norm"))
    if (auto value = read_enum<plan::BatchNorm>(context, *head->value, "batch_norm",
                                                {"per_micro", "across_ranks", "frozen"}))
      set(spec.batch_norm, value, head->value->span);
  if (const ast::Head* head = loop.find("resume")) {
    auto name = as_name(*head->value);
    if (name == "never" || name == "auto")
      set(spec.resume, name, head->value->span);
    else if (std::holds_alternative<ast::Text>(ast::strip(*head->value).node))
      set(spec.resume, read_text(context, *head->value, "resume"), head->value->span);
    else if (name)
      read_choice(context, *head->value, "resume", {"never", "auto"});
    else
      context.engine.report(Code::L050, head->value->span,
                            {"`never`, `auto` or a path in quotes for `resume`", describe(*head->value)});
  }
  if (const ast::Head* head = loop.find("check_replicas")) {
    if (as_name(*head->value) == "off")
      set(spec.check_replicas_updates, std::optional<int64_t>(0), head->value->span);
    else if (auto quantity = read_quantity(context, *head->value, "check_replicas", {Dim::updates}))
      set(spec.check_replicas_updates, std::optional(static_cast<int64_t>(quantity->value)),
          head->value->span);
  }
}

void read_amp(Context& context, const ast::Head* amp, Span place, Spec& spec) {
  spec.amp.span = place;
  if (!amp) return;
  spec.amp.span = amp->value->span;
  spec.amp.written = true;
  const ast::Call* call = as_call(*amp->value);
  if (!call) {
    if (auto choice = read_choice(context, *amp->value, "amp", {"off", "bf16", "fp16"}))
      spec.amp.value.mode = plan::from_spelling<plan::AmpMode>(*choice);
    return;
  }
  if (call->callee.dotted() != "fp16") {
    auto& finding = context.engine.report(
        Code::L050, amp->value->span,
        {"`off`, `bf16` or `fp16(init_scale: 65536)` for `amp`", describe(*amp->value)});
    if (call->callee.dotted() == "bf16")
      finding.help("bf16 has the range of fp32 and needs no loss scale: write `bf16`");
    return;
  }
  spec.amp.value.mode = plan::AmpMode::fp16;
  NamedArguments matched =
      match_arguments(context, call->args, "fp16",
                      {"init_scale", "growth_factor", "backoff_factor", "growth_interval", "min_scale"}, 0);
  auto positive = [&](size_t index, const char* name, double low, double high, double& target) {
    if (!matched.values[index]) return;
    auto value = read_number(context, *matched.values[index]->value, name);
    if (!value) return;
    if (*value > low && *value < high) {
      target = *value;
      return;
    }
    std::string above = std::isinf(high) ? "inf" : plan::number_text(high);
    context.engine.report(
        Code::L057, matched.values[index]->value->span,
        {name, plan::number_text(*value), "(" + plan::number_text(low) + ", " + above + ")"});
  };
  plan::Amp& value = spec.amp.value;
  positive(0, "init_scale", 0, INFINITY, value.init_scale);
  positive(1, "growth_factor", 1, INFINITY, value.growth_factor);
  positive(2, "backoff_factor", 0, 1, value.backoff_factor);
  if (matched.values[3])
    if (auto interval = read_whole(context, *matched.values[3]->value, "growth_interval", 1))
      value.growth_interval = *interval;
  positive(4, "min_scale", 0, INFINITY, value.min_scale);
}

void read_nonfinite(Context& context, const ast::Head* block, Span place, Spec& spec) {
  spec.nonfinite.span = place;
  if (!block) return;
  spec.nonfinite.span = block->keyword.span;
  spec.nonfinite.written = true;
  BlockReader reader(context, nonfinite_table(), block->block->items, block->keyword.span);
  if (const ast::Head* action = reader.find("action"))
    if (auto value = read_enum<plan::NonfiniteAction>(context, *action->value, "action", {"skip", "stop"}))
      spec.nonfinite.value.action = *value;
  if (const ast::Head* limit = reader.find("limit"))
    if (auto value = read_whole(context, *limit->value, "limit", 1)) spec.nonfinite.value.limit = *value;
}

void read_log(Context& context, const ast::Head* head, Span place, Spec& spec) {
  spec.log.span = place;
  if (!head) return;
  spec.log.span = head->keyword.span;
  spec.log.written = true;
  if (head->value) {
    if (auto choice = read_choice(context, *head->value, "log", {"on", "off"}))
      spec.log.value.enabled = *choice == "on";
    return;
  }
  BlockReader reader(context, log_table(), head->block->items, head->keyword.span);
  if (const ast::Head* path = reader.find("path"))
    if (auto text = read_text(context, *path->value, "path")) spec.log.value.path = *text;
  if (const ast::Head* every = reader.find("every"))
    spec.log.value.every = read_triggers(context, *every->value, "every");
}

bool read_window(Context& context, const ast::Head& block, bool finite, Spec& spec) {
  Window& window = spec.window;
  window.span = block.keyword.span;
  for (Span* span : {&window.size.span, &window.sync.span, &window.reduce.span, &window.tail.span,
                     &window.empty.span, &window.oom.span, &window.compress.span})
    *span = window.span;
  BlockReader reader(context, window_table(), block.block->items, block.keyword.span);

  bool good = true;
  const std::vector<Dim> kSizes = {Dim::micro_batches, Dim::samples, Dim::tokens, Dim::positions};
  auto unit_of = [](Dim dim) { return plan::from_spelling<plan::WindowSize::Unit>(name(dim)); };
  const ast::Head* size = reader.find("size");
  if (!size) {
    reader.missing("size", {"`size = 4 micro_batches`: four forward passes per rank make one update, so more "
                            "ranks mean a larger batch",
                            "`size = 16_384 tokens` or `480 samples`: so much over all ranks together, "
                            "whatever the ranks and the micro-batch"});
    good = false;
  } else if (const ast::Call* call = as_call(*size->value)) {
    window.size.written = true;
    window.size.span = size->value->span;
    const ast::Range* range = call->callee.dotted() == "ramp" && !call->args.empty()
                                  ? std::get_if<ast::Range>(&ast::strip(*call->args[0].value).node)
                                  : nullptr;
    if (!range) {
      context.engine.report(Code::L050, size->value->span,
                            {std::string(find_key(window_table(), "size")->takes), describe(*size->value)});
      return false;
    }
    NamedArguments matched = match_arguments(context, call->args, "ramp", {"range", "over"}, 1);
    auto to = read_quantity(context, *range->to, "size", kSizes);
    std::optional<double> from;
    if (std::holds_alternative<ast::Quantity>(ast::strip(*range->from).node)) {
      if (auto quantity =
              read_quantity(context, *range->from, "size", to ? std::vector<Dim>{to->dim} : kSizes))
        from = quantity->value;
    } else if (auto whole = read_whole(context, *range->from, "size", 1)) {
      from = static_cast<double>(*whole);
    }
    if (matched.good && !matched.values[1]) {
      context.engine.report(Code::L067, size->value->span, {"over", "ramp"})
          .help("such as `over: 1000 updates`");
      return false;
    }
    const std::vector<Dim> kOver = {Dim::updates, Dim::attempts, Dim::samples, Dim::tokens, Dim::epochs};
    auto over =
        matched.good ? read_quantity(context, *matched.values[1]->value, "over", kOver) : std::nullopt;
    if (!to || !from || !over) return false;
    window.size.value.unit = unit_of(to->dim);
    window.size.value.value = static_cast<int64_t>(to->value);
    window.size.value.ramp =
        plan::WindowSize::Ramp{static_cast<int64_t>(*from), *clock_of(over->dim), over->value};
  } else {
    auto quantity = read_quantity(context, *size->value, "size", kSizes);
    window.size.written = true;
    window.size.span = size->value->span;
    if (quantity) {
      window.size.value.unit = unit_of(quantity->dim);
      window.size.value.value = static_cast<int64_t>(quantity->value);
    }
    good = quantity.has_value();
  }

  if (const ast::Head* head = reader.find("sync"))
    set(window.sync, read_enum<plan::Sync>(context, *head->value, "sync", {"last", "every", "manual"}),
        head->value->span);
  if (const ast::Head* head = reader.find("reduce"))
    set(window.reduce, read_enum<plan::ReduceMode>(context, *head->value, "reduce", {"sum", "mean"}),
        head->value->span);
  if (const ast::Head* head = reader.find("empty"))
    set(window.empty, read_enum<plan::EmptyPolicy>(context, *head->value, "empty", {"skip", "error"}),
        head->value->span);
  if (const ast::Head* head = reader.find("oom"))
    set(window.oom, read_enum<plan::OomPolicy>(context, *head->value, "oom", {"error", "halve"}),
        head->value->span);
  if (const ast::Head* head = reader.find("compress"))
    set(window.compress, read_enum<plan::Compression>(context, *head->value, "compress", {"none", "bf16"}),
        head->value->span);
  if (const ast::Head* head = reader.find("tail")) {
    if (auto tail = read_enum<plan::Tail>(context, *head->value, "tail", {"flush", "carry", "drop"}))
      set(window.tail, tail, head->value->span);
  } else if (finite && good && !reader.was_misspelt("tail")) {
    // One micro-batch per window on one rank divides every source; then no window is ever unfinished.
    bool divides = window.size.value.unit == plan::WindowSize::Unit::micro_batches &&
                   window.size.value.value == 1 && !window.size.value.ramp && spec.ranks.value == 1;
    if (divides) {
      window.tail.value = plan::Tail::flush;
    } else {
      auto& finding = context.engine.report(Code::L080, block.keyword.span);
      finding.help("`tail = flush`: update with what was accumulated, divided by its own count")
          .help("`tail = carry`: epochs are one stream; the unfinished window goes on in the next epoch")
          .help("`tail = drop`: the remainder is not trained on, and the lost samples are logged");
    }
  }
  return good;
}

void read_averages(Context& context, const BlockReader& loop, Spec& spec) {
  for (const ast::Head* head : loop.named("average")) {
    const ast::Call* call = as_call(*head->value);
    if (!call || call->callee.dotted() != "ema") {
      context.engine.report(Code::L050, head->value->span, {"`ema(decay: 0.999)`", describe(*head->value)});
      continue;
    }
    if (head->name->text == "model") {
      context.engine.report(Code::L036, head->name->span, {"model"})
          .help("`model` means the trained parameters themselves");
      continue;
    }
    NamedArguments matched = match_arguments(context, call->args, "ema", {"decay", "buffers"}, 1);
    if (!matched.good) continue;
    if (!matched.values[0]) {
      context.engine.report(Code::L067, head->value->span, {"decay", "ema"})
          .help("such as `ema(decay: 0.999)`: the average moves by 1 - decay with every update");
      continue;
    }
    NumericScope scope;
    scope.variable = [](const std::string& name, Span) -> std::optional<Scalar> {
      auto clock = find_clock(name);
      if (!clock) return std::nullopt;
      return Scalar{plan::Expression::variable(name), Dim::none, false, false, 1, {}};
    };
    scope.names = clock_names();
    auto decay = read_scalar(context, *matched.values[0]->value, scope);
    if (!decay) continue;
    if (decay->dim != Dim::none) {
      context.engine.report(Code::L052, matched.values[0]->value->span,
                            {"a plain number for `decay`", describe(*decay)});
      continue;
    }
    if (auto value = decay->constant(); value && (*value < 0 || *value >= 1)) {
      context.engine.report(Code::L057, matched.values[0]->value->span,
                            {"decay", plan::number_text(*value), "[0, 1)"});
      continue;
    }
    Average average;
    average.average.name = head->name->text;
    average.average.decay = decay->value;
    average.span = head->name->span;
    if (matched.values[1])
      if (auto buffers = read_boolean(context, *matched.values[1]->value, "buffers"))
        average.average.buffers = *buffers;
    spec.averages.push_back(std::move(average));
  }
}

}  // namespace loop::sema
