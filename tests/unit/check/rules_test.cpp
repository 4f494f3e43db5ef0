// The families beside order and normalisation.
#include <doctest/doctest.h>

#include "tests/unit/check/checked.h"

using namespace loop;
using namespace loop::tests;
using diagnostics::Severity;

namespace {

Codes all(const Parts& parts) {
  return checked(parts).findings(Severity::note);
}

/// The findings of a loop whose facts a test has changed.
Codes after(const Parts& parts, void (*change)(sema::Spec&)) {
  Checked result = checked(parts);
  REQUIRE(result.specs.size() == 1);
  change(result.specs.front());
  result.engine = diagnostics::Engine();
  check::check(result.specs.front(), result.engine);
  return result.findings(Severity::note);
}

Parts canonical() {
  return {.micro = "", .update = "step sgd(lr: 0.1)"};
}

}  // namespace

TEST_CASE("an ordinary loop has no findings of any kind") {
  CHECK(all({}) == Codes{});
}

TEST_CASE("a tail without an end") {
  CHECK(after(canonical(), [](sema::Spec& spec) { spec.data.sources[0].facts.finite = false; }) ==
        Codes{"L403:5"});
}

TEST_CASE("ranks with files of their own") {
  CHECK(after(canonical(), [](sema::Spec& spec) { spec.data.sources[0].facts.split_by_file = true; }) ==
        Codes{"L901:3"});
}

TEST_CASE("carry without a checkpoint") {
  Parts parts = canonical();
  parts.window = "size = 4 micro_batches; tail = carry";
  CHECK(all(parts) == Codes{"L402:5"});
  parts.more = "checkpoint { path = \"ckpt\"; every = 50 updates }";
  CHECK(all(parts) == Codes{});
}

TEST_CASE("mixed precision") {
  const std::string rest = "normalize; step sgd(lr: 0.1); zero_grad";
  CHECK(all({.micro = "sync_on(last) { autocast { forward; loss }; backward }", .more = kFp16}) ==
        Codes{"L501:6"});
  CHECK(all({.more = "amp = bf16"}) == Codes{"L503:6", "L503:6"});
  CHECK(all({.micro = "sync_on(last) { autocast { forward; loss; backward } }", .more = "amp = bf16"}) ==
        Codes{"L504:6"});
  CHECK(all({.micro = "sync_on(last) { autocast { forward; loss }; backward }"}) == Codes{"L505:6"});
  CHECK(all({.micro = kFp16Micro, .update = "unscale; " + rest, .more = "amp = bf16"}) == Codes{"L506:6"});
  CHECK(all({.micro = kFp16Micro, .update = "unscale; " + rest, .more = kFp16}) == Codes{"L507:6"});
}

TEST_CASE("schedules against the end of the run") {
  const auto with = [](const std::string& total, const std::string& stop) {
    return Parts{.micro = "",
                 .update = "step sgd(lr: warmup_cosine(peak: 0.1, warmup: 10%, total: " + total + "))",
                 .stop = stop};
  };
  CHECK(all(with("horizon", "100 updates")) == Codes{});
  CHECK(all(with("horizon", "10 h")) == Codes{"L601:7"});
  CHECK(all(with("100 attempts", "100 updates")) == Codes{"L602:7"});
  CHECK(all(with("50 updates", "100 updates")) == Codes{"L604:7"});
  CHECK(all(with("400 updates", "100 updates")) == Codes{"L605:7"});
}

TEST_CASE("clocks by hand") {
  CHECK(errors({.update = "normalize; step sgd(lr: 0.1); tick updates; zero_grad"}) == Codes{"L611:7"});
  CHECK(errors({.update = "normalize; step sgd(lr: 0.1); when finite { tick updates }; zero_grad"}) ==
        Codes{});
  CHECK(errors({.micro = "sync_on(last) { forward; loss; backward }; tick updates"}) == Codes{"L610:6"});
  CHECK(errors({.update = "normalize; step sgd(lr: 0.1); when finite { average slow }; zero_grad",
                .more = "average slow = ema(decay: 0.99)"}) == Codes{});
  CHECK(errors({.micro = "sync_on(last) { forward; loss; backward }; average slow",
                .more = "average slow = ema(decay: 0.99)"}) == Codes{"L610:6"});
}

TEST_CASE("BatchNorm and coupled losses") {
  Parts parts = canonical();
  parts.model = "cnn(channels: [8], batch_norm: true)";
  parts.data = "train = idx(images: \"i.gz\", labels: \"l.gz\"); micro_batch = 32 samples; short = drop";
  parts.loss = "loss = cross_entropy() per samples";
  CHECK(all(parts) == Codes{"L801:2"});
  parts.more = "batch_norm = per_micro";
  CHECK(all(parts) == Codes{"L802:9"});
  parts.more = "batch_norm = across_ranks";
  CHECK(all(parts) == Codes{"L803:9"});
  parts.more = "batch_norm = frozen";
  CHECK(all(parts) == Codes{});
  Parts contrastive = canonical();
  contrastive.loss = "loss = info_nce() per samples";
  CHECK(errors(contrastive) == Codes{"L804:4"});
  contrastive.window = "size = 1 micro_batches";
  contrastive.more = "ranks = 1";
  CHECK(errors(contrastive) == Codes{});
}

TEST_CASE("notes on splits") {
  Parts parts = canonical();
  parts.model = "gpt(layers: 1, heads: 1, width: 8, context: 16, dropout: 0.1)";
  CHECK(all(parts) == Codes{"L806:2"});
  Parts many = canonical();
  many.window = "size = 32 micro_batches; tail = flush";
  CHECK(all(many) == Codes{"L807:5"});
}
