#include <doctest/doctest.h>

#include "tests/unit/sema/analysis.h"

using namespace loop;
using loop::testing::Analysis;
using loop::testing::kTiny;
using loop::testing::replace;

namespace {

std::string shown(const std::vector<sema::Operation>& operations) {
  std::string text;
  for (const sema::Operation& operation : operations) {
    if (!text.empty()) text += "; ";
    text += operation.op.kind == plan::OpKind::step ? "step" : plan::to_text(operation.op);
    if (!operation.body.empty()) text += " { " + shown(operation.body) + " }";
  }
  return text;
}

const std::string kTwoClasses = "loss { a = cross_entropy() per samples; b = 0.1 * z_loss() per window }";
const std::string kOneClass = "loss = cross_entropy() per samples";

}  // namespace

TEST_CASE("the canonical order is written in where nothing is written") {
  auto micro = [](const std::string& text) { return shown(Analysis(text).spec().micro.operations); };
  auto update = [](const std::string& text) { return shown(Analysis(text).spec().update.operations); };
  CHECK(micro(kTiny) == "sync_on(last) { forward; loss; backward }");
  CHECK(update(kTiny) == "normalize; step; zero_grad");
  std::string bf16 = replace(kTiny, "  stop", "  amp = bf16\n  stop");
  CHECK(micro(bf16) == "sync_on(last) { autocast { forward; loss }; backward }");
  CHECK(update(bf16) == "normalize; step; zero_grad");
  std::string fp16 = replace(kTiny, "  stop", "  amp = fp16\n  stop");
  CHECK(micro(fp16) == "sync_on(last) { autocast { forward; loss }; scale_loss(loss_scale); backward }");
  CHECK(update(fp16) == "unscale; normalize; step; update_scale; zero_grad");
  CHECK(micro(replace(kTiny, "tail = flush", "tail = flush; sync = every")) ==
        "sync_on(every) { forward; loss; backward }");
  std::string manual = replace(kTiny, "tail = flush", "tail = flush; sync = manual");
  CHECK(micro(manual) == "forward; loss; backward");
  CHECK(update(manual) == "reduce(sum); normalize; step; zero_grad");
  std::string two = replace(kTiny, kOneClass, kTwoClasses);
  CHECK(micro(two) == "sync_on(last) { forward; loss(normalized); backward }");
  CHECK(update(two) == "step; zero_grad");
  CHECK(update(replace(two, "tail = flush", "tail = flush; reduce = mean")) ==
        "scale_grad(ranks); step; zero_grad");
}

TEST_CASE("what the compiler wrote stands at the loop's name, what is written at its place") {
  Analysis analysis(kTiny);
  const sema::Spec& spec = analysis.spec();
  CHECK(spec.update.completed);
  CHECK(spec.update.operations[0].span == spec.name_span);
  CHECK(analysis.sources.text(spec.update.operations[1].span) == "step sgd(lr: 0.1)");
  CHECK(analysis.sources.text(spec.micro.operations[0].body[2].span) == "tiny");
}

TEST_CASE("a block with anything but steps means what it says") {
  Analysis analysis(
      replace(kTiny, "update { step sgd(lr: 0.1) }", "update { step sgd(lr: 0.1); zero_grad }"));
  CHECK_FALSE(analysis.spec().update.completed);
  CHECK(shown(analysis.spec().update.operations) == "step; zero_grad");
}

TEST_CASE("the accumulator class, transcribed") {
  Analysis analysis(R"(use std.optimizers.adamw

loop accumulator {
  model = gpt(layers: 1, heads: 1, width: 8, context: 8)
  data { train = text("corpus.txt", tokenizer: byte); micro_batch = 8 samples }
  loss = cross_entropy(ignore: -100) per tokens
  amp  = fp16
  window { size = 4 micro_batches; reduce = mean; tail = flush }
  micro { autocast { forward; loss(mean) }; scale_loss(1 / micro_batches); scale_loss(loss_scale); backward }
  update { unscale; clip(norm: 1.0); step adamw(lr: 1e-3); update_scale; zero_grad }
  stop = 100 updates
}
)");
  CAPTURE(analysis.text());
  CHECK(analysis.engine.diagnostics().empty());
  CHECK(shown(analysis.spec().micro.operations) ==
        "autocast { forward; loss(mean) }; scale_loss(1 / micro_batches); scale_loss(loss_scale); backward");
}

TEST_CASE("factors are products of numbers and powers") {
  auto factor = [](const std::string& text) {
    Analysis analysis(replace(kTiny, "update {", "update { scale_grad(" + text + ");"));
    INFO(analysis.text());
    return analysis.spec().update.operations[0].op.factor;
  };
  CHECK(factor("1 / (2 * ranks)").number == 0.5);
  CHECK(factor("1 / (2 * ranks)").powers[0].exponent == -1);
  CHECK(factor("ranks * ranks / ranks").powers[0].exponent == 1);
  CHECK(factor("ranks / ranks").powers.empty());
  CHECK(factor("-2 ^ 3 * loss_scale ^ 2").number == -8);
  CHECK(factor("loss_scale ^ (-1)").powers[0].exponent == -1);
  plan::Factor counts = factor("samples.rank / samples.global / micro_batches.counted");
  REQUIRE(counts.powers.size() == 3);
  CHECK(counts.powers[0].symbol == plan::Power::Symbol::count_rank);
  CHECK(counts.powers[0].count_class == 0);
  CHECK(counts.powers[1].exponent == -1);
  CHECK(counts.powers[2].symbol == plan::Power::Symbol::micro_batches_counted);
}

TEST_CASE("guards are conditions over the run") {
  auto condition = [](const std::string& text) {
    Analysis analysis(replace(kTiny, "update {", "update { when " + text + " { clip(norm: 1) };"));
    INFO(analysis.text());
    return plan::to_text(analysis.spec().update.operations[0].op.condition);
  };
  CHECK(condition("finite") == "finite");
  CHECK(condition("last and not first") == "last and not first");
  CHECK(condition("samples.global == 0") == "samples.global == 0");
  CHECK(condition("updates >= 100") == "updates >= 100");
  CHECK(condition("updates >= 100 updates or epochs > 2 epochs") == "updates >= 100 or epochs > 2");
}

TEST_CASE("operations name groups, averages and clocks that exist") {
  Analysis analysis(replace(replace(kTiny, "update { step sgd(lr: 0.1) }",
                                    "average slow = ema(0.9)\n  update { normalize; clip(value: 0.5) on "
                                    "weights; step sgd(lr: 0.1); average slow; tick updates; zero_grad }"),
                            "  stop", "  params { weights = ndim >= 2; rest = others }\n  stop"));
  CAPTURE(analysis.text());
  CHECK(analysis.engine.diagnostics().empty());
  CHECK(analysis.spec().update.operations[1].op.kind == plan::OpKind::clip_value);
  CHECK(analysis.spec().update.operations[1].op.limit.value == 0.5);
  CHECK(analysis.spec().update.operations[3].op.target == "slow");
}
