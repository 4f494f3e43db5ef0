#include <doctest/doctest.h>

#include "tests/unit/sema/analysis.h"

using namespace loop;
using loop::testing::Analysis;
using loop::testing::kTiny;
using loop::testing::replace;

namespace {

const std::string kCharGpt =
    R"(# Character-level GPT on real text: 4 micro-batches per update, exact token mean, fp16.
use std.optimizers.adamw
use std.schedules.warmup_cosine

loop char_gpt {
  seed  = 1337
  model = gpt(layers: 4, heads: 4, width: 128, context: 64, dropout: 0.0)

  data {
    train       = text("corpus.txt", tokenizer: char, take: first(90%))
    valid       = text("corpus.txt", tokenizer: char, take: last(10%))
    micro_batch = 8 samples              # per rank; a sample of text is one sequence
    order       = shuffled
  }

  params {                               # every trainable parameter is in exactly one group
    decayed = ndim >= 2
    plain   = others
  }

  loss = cross_entropy(ignore: -100) per tokens
  amp  = fp16(init_scale: 65536)

  window {
    size = 4 micro_batches
    sync = last
    tail = flush
  }

  update {
    unscale
    normalize
    clip(norm: 1.0)
    step adamw(lr: warmup_cosine(peak: 2e-3, warmup: 10%, total: horizon), beta1: 0.9, beta2: 0.99, weight_decay: 0.1) on decayed
    step adamw(lr: warmup_cosine(peak: 2e-3, warmup: 10%, total: horizon), beta1: 0.9, beta2: 0.99) on plain
    update_scale
    zero_grad
  }

  stop = 1000 updates
  evaluate held_out { on = valid; every = 200 updates; limit = 100 micro_batches; metrics = [loss] }
  checkpoint { path = "runs/char_gpt/ckpt"; every = 500 updates or 10 min; keep = last(3) + best(held_out.loss) }
  log { path = "runs/char_gpt"; every = 10 updates }
}
)";

}  // namespace

TEST_CASE("the complete file of the language page") {
  Analysis analysis(kCharGpt);
  CAPTURE(analysis.text());
  CHECK(analysis.engine.diagnostics().empty());
  const sema::Spec& spec = analysis.spec();
  CHECK(spec.name == "char_gpt");
  CHECK(spec.seed.value == 1337);
  CHECK(spec.model.facts.known);
  CHECK(spec.model.facts.context == 64);
  CHECK_FALSE(spec.model.facts.random);
  CHECK(spec.model.facts.parameters.size() == 2 + 4 * 12 + 3);
  CHECK(spec.model.facts.parameters[0].name == "token_embedding.weight");
  CHECK(spec.model.facts.parameters[0].shape == std::vector<int64_t>{-1, 128});
  CHECK(spec.data.sources[1].source.component.args["length"] == 64);
  CHECK(spec.data.sources[1].source.component.args["take"] ==
        plan::json::parse(R"({"call":"last","args":[0.1]})"));
  CHECK(spec.data.sources[0].facts.equal_counts);
  CHECK(spec.data.micro_batch_samples.value == 8);
  CHECK(spec.count_classes.size() == 1);
  CHECK(spec.count_classes[0].unit == plan::CountUnit::tokens);
  CHECK(spec.count_classes[0].ignore == -100);
  CHECK(spec.terms[0].term.name == "loss");
  CHECK(spec.amp.value.mode == plan::AmpMode::fp16);
  CHECK(spec.groups.size() == 2);
  CHECK(spec.window.tail.value == plan::Tail::flush);
  CHECK_FALSE(spec.micro.written);
  CHECK(spec.update.written);
  CHECK_FALSE(spec.update.completed);
  CHECK(spec.update.operations.size() == 7);
  CHECK(spec.update.operations[3].op.groups == std::vector<std::string>{"decayed"});
  CHECK(spec.update.operations[3].op.rule.optimizer == "std.optimizers.adamw");
  CHECK(spec.update.operations[4].op.rule.find("weight_decay")->value == 0.01);
  CHECK(spec.rules.size() == 1);
  REQUIRE(spec.schedules.size() == 2);
  CHECK(spec.schedules[0].clock == plan::Clock::updates);
  CHECK(spec.schedules[0].schedule == "std.schedules.warmup_cosine");
  CHECK(spec.checkpoint.value->every.size() == 2);
  CHECK(spec.checkpoint.value->every[1].clock == plan::Clock::seconds);
  CHECK(spec.checkpoint.value->every[1].value == 600);
  CHECK(spec.checkpoint.value->keep.last == 3);
  CHECK(spec.checkpoint.value->keep.best_metric == "held_out.loss");
  CHECK(spec.log.value.every[0].value == 10);
}

TEST_CASE("defaults are the first values of the language page") {
  Analysis analysis(kTiny);
  const sema::Spec& spec = analysis.spec();
  CHECK(spec.seed.value == 0);
  CHECK(spec.device.value == plan::Device::automatic);
  CHECK_FALSE(spec.ranks.value.has_value());
  CHECK(spec.dtype.value == plan::Dtype::fp32);
  CHECK(spec.data.order.value == plan::Order::shuffled);
  CHECK(spec.data.short_policy.value == plan::ShortPolicy::keep);
  CHECK(spec.window.sync.value == plan::Sync::last);
  CHECK(spec.window.reduce.value == plan::ReduceMode::sum);
  CHECK(spec.window.empty.value == plan::EmptyPolicy::skip);
  CHECK(spec.amp.value.mode == plan::AmpMode::off);
  CHECK(spec.nonfinite.value.limit == 50);
  CHECK(spec.resume.value == "never");
  CHECK(spec.check_replicas_updates.value == 1000);
  CHECK(spec.log.value.enabled);
  CHECK_FALSE(spec.checkpoint.value.has_value());
  CHECK(spec.groups.size() == 1);
  CHECK(spec.groups[0].group.name == "all");
  for (const auto& span : {spec.seed.span, spec.device.span, spec.amp.span}) CHECK(span == spec.name_span);
}

TEST_CASE("a tail policy is needed exactly when a window can be left unfinished") {
  std::string none = replace(kTiny, "    tail = flush\n", "");
  CHECK(Analysis(none).has("L080"));
  CHECK(Analysis(replace(none, "4 micro_batches", "1 micro_batches")).has("L080"));  // ranks can end unevenly
  CHECK_FALSE(Analysis(replace(replace(none, "4 micro_batches", "1 micro_batches"), "loop tiny {",
                               "loop tiny {\n  ranks = 1"))
                  .has("L080"));
}

TEST_CASE("terms that share unit and mask share a count") {
  std::string text = replace(kTiny, "loss = cross_entropy() per samples", R"(loss {
    main    = cross_entropy(ignore: -100, label_smoothing: 0.1) per samples
    z       = 1e-4 * z_loss(ignore: -100) per samples
    other   = z_loss() * 2 / 4 per samples
    sum     = z_loss() per window
    fixed   = z_loss() per 64
    fixed2  = z_loss() per 64
    boxes   = 5 * l1() per boxes(at_least: ranks)
    balance = 1e-2 * moe_balance() per micro_batch
    weighed = cross_entropy(weights: [1, 2]) per class_weight
  })");
  Analysis analysis(text);
  CAPTURE(analysis.text());
  const sema::Spec& spec = analysis.spec();
  std::vector<int> classes;
  for (const auto& term : spec.terms) classes.push_back(term.term.count_class);
  CHECK(classes == std::vector<int>{0, 0, 1, 2, 3, 3, 4, 5, 6});
  CHECK(spec.terms[1].term.weight == 1e-4);
  CHECK(spec.terms[2].term.weight == 0.5);
  CHECK(spec.count_classes[3].constant == 64);
  CHECK(spec.count_classes[4].at_least == plan::Expression::variable("ranks"));
  CHECK_FALSE(spec.terms[7].facts.decomposes);
  CHECK(spec.terms[0].facts.masked);
}

TEST_CASE("stop, averages and evaluations") {
  Analysis analysis(replace(kTiny, "stop = 100 updates", R"(average slow = ema(decay: 0.999, buffers: true)
  evaluate held_out { on = valid; every = 1 epoch; metrics = [loss, accuracy]; also = [start, end]; with = slow }
  evaluate last_one { on = train }
  stop = 90 epochs or 10 h or no_better(held_out.accuracy, for: 10 evaluations))"));
  CAPTURE(analysis.text());
  CHECK(analysis.engine.diagnostics().empty());
  const sema::Spec& spec = analysis.spec();
  REQUIRE(spec.stop.size() == 3);
  CHECK(spec.stop[1].condition.limit.clock == plan::Clock::seconds);
  CHECK(spec.stop[1].condition.limit.value == 36000);
  CHECK(spec.stop[2].condition.metric == "held_out.accuracy");
  CHECK(spec.stop[2].condition.patience_evaluations == 10);
  CHECK(spec.averages[0].average.buffers);
  CHECK(spec.evaluations[0].evaluation.with == "slow");
  CHECK(spec.evaluations[0].evaluation.at_start);
  CHECK(spec.evaluations[1].evaluation.at_end);
  CHECK(spec.evaluations[1].evaluation.metrics == std::vector<std::string>{"loss"});
}

TEST_CASE("window sizes") {
  auto size = [](const std::string& text) {
    return Analysis(replace(kTiny, "4 micro_batches", text)).spec().window.size.value;
  };
  CHECK(size("16_384 tokens").unit == plan::WindowSize::Unit::tokens);
  CHECK(size("16_384 tokens").value == 16384);
  CHECK(size("480 samples").unit == plan::WindowSize::Unit::samples);
  plan::WindowSize ramp = size("ramp(1 -> 8 micro_batches, over: 1000 updates)");
  CHECK(ramp.value == 8);
  REQUIRE(ramp.ramp);
  CHECK(ramp.ramp->from == 1);
  CHECK(ramp.ramp->over == 1000);
}

TEST_CASE("groups are a partition of the model's parameters") {
  auto with = [](const std::string& params) {
    return Analysis(replace(kTiny, "  update", "  params { " + params + " }\n  update"));
  };
  CHECK(with("decayed = ndim >= 2; plain = others").engine.diagnostics().empty());
  CHECK(with("decayed = \"*.weight\"; plain = \"*.bias\"").engine.diagnostics().empty());
  CHECK(with("a = [\"layers.0.*\", \"layers.1.bias\"]; b = not (\"layers.0.*\" or \"layers.1.bias\")")
            .engine.diagnostics()
            .empty());
  CHECK(with("a = ndim == 2 and \"layers.0.*\"; b = others").engine.diagnostics().empty());
  Analysis frozen = with("still = frozen(\"layers.0.*\"); rest = others");
  CHECK(frozen.engine.diagnostics().empty());
  CHECK(frozen.spec().groups[0].group.frozen);
  Analysis none = with("a = ndim >= 2");
  CHECK(none.finding("L070").message.find("layers.0.bias") != std::string::npos);
  CHECK(
      with("a = ndim >= 2; b = \"layers.0.*\"; c = others").finding("L071").message.find("layers.0.weight") !=
      std::string::npos);
  CHECK(with("a = ndim >= 3; b = others").place("L072") == "a");
}

TEST_CASE("a model that nobody describes is a note, and its groups wait for the start") {
  Analysis analysis(replace(replace(kTiny, "mlp(hidden: [8])", "my_model(width: 8, kind: fast)"), "  update",
                            "  params { a = \"*.head\"; b = others }\n  update"));
  CHECK(analysis.place("L074") == "my_model");
  CHECK_FALSE(analysis.engine.has_errors());
  CHECK_FALSE(analysis.spec().model.facts.known);
  CHECK(analysis.spec().model.component.args == plan::json::parse(R"({"width":8,"kind":"fast"})"));
  CHECK(Analysis(replace(kTiny, "mlp", "mpl")).finding("L074").helps[0] == "did you mean `mlp`?");
}

TEST_CASE("a user's own model can be described in the spec") {
  Analysis analysis(R"(model twice(width: integer in [1, inf), norm: boolean(false)) {
  batch_norm = norm
  couples    = norm
  parameters {
    repeat(i: 2) { tensor("part{i}.weight", [width, features]) }
    when norm { tensor("scale", [width]) }
  }
}

)" + replace(kTiny, "mlp(hidden: [8])", "twice(width: 3, norm: true)"));
  CAPTURE(analysis.text());
  CHECK(analysis.engine.diagnostics().empty());
  const sema::ModelFacts& facts = analysis.spec().model.facts;
  REQUIRE(facts.parameters.size() == 3);
  CHECK(facts.parameters[1].name == "part1.weight");
  CHECK(facts.parameters[1].shape == std::vector<int64_t>{3, -1});
  CHECK(facts.batch_norm);
}

TEST_CASE("descriptors of the standard library") {
  auto parameters = [](const std::string& model) {
    std::string text;
    Analysis analysis(replace(kTiny, "mlp(hidden: [8])", model));
    for (const sema::ParameterInfo& info : analysis.spec().model.facts.parameters) {
      text += info.name + " ";
      for (size_t i = 0; i < info.shape.size(); ++i)
        text += (i > 0 ? "x" : "") + std::to_string(info.shape[i]);
      text += "; ";
    }
    return text;
  };
  CHECK(parameters("linear()") == "weight -1x-1; bias -1; ");
  CHECK(parameters("mlp(hidden: [4], outputs: 3, batch_norm: true)") ==
        "layers.0.weight 4x-1; layers.0.bias 4; layers.1.weight 3x4; layers.1.bias 3; norms.0.weight 4; "
        "norms.0.bias 4; ");
  CHECK(Analysis(replace(kTiny, "mlp(hidden: [8])", "cnn(channels: [2, 3], batch_norm: true)"))
            .spec()
            .model.facts.parameters.size() == 12);
  CHECK(Analysis(replace(kTiny, "mlp(hidden: [8])",
                         "gpt(layers: 1, heads: 1, width: 8, context: 8, tied: true, dropout: 0.1)"))
            .spec()
            .model.facts.random);
}
