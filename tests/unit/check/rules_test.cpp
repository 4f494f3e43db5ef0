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

TEST_CASE("skipped updates have a limit, and the loss scale a floor") {
  Parts parts = canonical();
  parts.more = "amp = fp16(init_scale: 65536, min_scale: 1e-30)";
  CHECK(all(parts) == Codes{"L509:9"});
  parts.more = "amp = fp16(init_scale: 65536, min_scale: 0.25)";
  CHECK(all(parts) == Codes{});
  parts.more = "nonfinite { action = skip; limit = 1_000_000 }";
  CHECK(all(parts) == Codes{"L508:9"});
  parts.more = "nonfinite { action = skip; limit = 1000 }";
  CHECK(all(parts) == Codes{});
  parts.more = "nonfinite { action = stop; limit = 1_000_000 }";
  CHECK(all(parts) == Codes{});
}

TEST_CASE("a constant in the place of the loss scale") {
  const auto with = [](const std::string& loss, const std::string& update) {
    return Parts{.micro = "sync_on(last) { autocast { forward; " + loss + " }; scale_loss(4096); backward }",
                 .update = "scale_grad(1 / 4096); " + update + "step sgd(lr: 0.1); zero_grad",
                 .more = kFp16};
  };
  const Checked sum = checked(with("loss", "normalize; "));
  CHECK(sum.findings(Severity::note) == Codes{"L510:6"});
  // 8 samples of 16 tokens in each of 4 micro-batches
  CHECK(sum.notes("L510", "512 tokens"));
  CHECK(sum.notes("L510", "halved 9 times"));
  CHECK(all(with("loss(normalized)", "")) == Codes{"L511:6"});
}

TEST_CASE("a schedule past its total") {
  const auto with = [](const std::string& body, const std::string& total, const std::string& stop) {
    Parts parts = canonical();
    parts.update = "step sgd(lr: own(peak: 0.1, total: " + total + "))";
    parts.stop = stop;
    return checked("schedule own(clock, peak, total) = " + body + "\n" + text_of(parts));
  };
  const std::string wave = "peak * 0.5 * (1 + cos(pi * (clock / total)))";
  CHECK(with(wave, "49 updates", "51 updates").findings(Severity::note) == Codes{"L606:8"});
  // The last update has the clock at 49, the total itself.
  CHECK(with(wave, "49 updates", "50 updates").findings(Severity::note) == Codes{});
  CHECK(with("peak * (1 - clock / total)", "90 updates", "100 updates").findings(Severity::note) ==
        Codes{"L606:8"});
  CHECK(with(wave, "2 epochs", "5 epochs").findings(Severity::note) == Codes{"L606:8"});
  CHECK(with("peak / (1 + clock / total)", "10 updates", "100 updates").findings(Severity::note) == Codes{});
  CHECK(with("peak * (1 - 0.9 * min(clock / total, 1))", "50 updates", "100 updates")
            .findings(Severity::note) == Codes{});
}

TEST_CASE("epochs of a known length are updates") {
  const auto with = [](const std::string& total, const std::string& tail) {
    Parts parts = canonical();
    parts.data =
        "train = lines(\"corpus.txt\", tokenizer: byte, take: first(120 samples)); micro_batch = 8 samples";
    parts.window = "size = 2 micro_batches; tail = " + tail;
    parts.update = "step sgd(lr: warmup_cosine(peak: 0.1, warmup: 5 updates, total: " + total + "))";
    parts.more = "ranks = 1";
    parts.stop = "10 epochs";
    return all(parts);
  };
  // 15 micro-batches: 8 windows with the short one, 7 without it.
  CHECK(with("80 updates", "flush") == Codes{});
  CHECK(with("70 updates", "flush") == Codes{"L604:7"});
  CHECK(with("70 updates", "drop") == Codes{});
  CHECK(with("80 updates", "drop") == Codes{"L605:7"});
}

TEST_CASE("a warm-up of nothing divides by nothing") {
  Parts parts = canonical();
  parts.update = "step sgd(lr: own(peak: 0.1, warmup: 0 updates))";
  const std::string own =
      "schedule own(clock, peak, warmup) = if clock < warmup then peak * (clock + 1) / warmup else peak\n";
  CHECK(checked(own + text_of(parts)).findings(Severity::note) == Codes{});
  parts.update = "step sgd(lr: own(peak: 0.1 / 0, warmup: 0 updates))";
  CHECK(checked(own + text_of(parts)).findings(Severity::note) == Codes{"L058:8"});
}

TEST_CASE("clocks that move without an update") {
  Parts parts = canonical();
  parts.stop = "1000 attempts";
  CHECK(all(parts) == Codes{"L607:8"});
  parts.stop = "4000 micro_batches";
  CHECK(all(parts) == Codes{"L607:8"});
  parts.stop = "4000 samples_seen";
  CHECK(all(parts) == Codes{});
  parts.stop = "100 updates";
  parts.more = "average slow = ema(decay: min(0.99, attempts / 100))";
  CHECK(all(parts) == Codes{"L608:9"});
  parts.more = "average slow = ema(decay: min(0.99, updates / 100))";
  CHECK(all(parts) == Codes{});
}

TEST_CASE("BatchNorm and what is left of an epoch") {
  const auto with = [](const std::string& take, const std::string& more) {
    Parts parts = canonical();
    parts.model = "cnn(channels: [8], batch_norm: true)";
    parts.data = "train = idx(images: \"i.gz\", labels: \"l.gz\"" + take + "); micro_batch = 32 samples";
    parts.loss = "loss = cross_entropy() per samples";
    parts.window = "size = 1 micro_batches; tail = flush";
    parts.more = "ranks = 1; batch_norm = " + more;
    return all(parts);
  };
  CHECK(with("", "per_micro") == Codes{"L809:9"});
  CHECK(with(", take: first(65 samples)", "per_micro") == Codes{"L809:9"});
  CHECK(with(", take: first(64 samples)", "per_micro") == Codes{});
  CHECK(with(", take: first(80 samples)", "per_micro") == Codes{});
  CHECK(with("", "frozen") == Codes{});
}

TEST_CASE("BatchNorm and how the last micro-batch is shared among ranks") {
  const auto with = [](int64_t samples, const std::string& ranks) {
    Parts parts = canonical();
    parts.model = "cnn(channels: [8], batch_norm: true)";
    parts.data = "train = idx(images: \"i.gz\", labels: \"l.gz\", take: first(" + std::to_string(samples) +
                 " samples)); micro_batch = 16 samples";
    parts.loss = "loss = cross_entropy() per samples";
    parts.window = "size = 1 micro_batches; tail = flush";
    parts.more = "ranks = " + ranks + "; batch_norm = per_micro";
    return checked(parts);
  };
  CHECK(with(64, "2").findings(Severity::note) == Codes{});
  CHECK(with(80, "2").findings(Severity::note) == Codes{});  // 8 for each
  CHECK(with(95, "2").findings(Severity::note) == Codes{});  // 16 and 15
  CHECK(with(65, "2").findings(Severity::note) == Codes{"L809:9"});
  CHECK(with(96, "4").findings(Severity::note) == Codes{});
  const Checked one_short = with(79, "2");  // 15 are left: 8 and 7
  CHECK(one_short.findings(Severity::note) == Codes{"L809:9"});
  CHECK(one_short.find("L809")->message.find("can hold 7 samples:") != std::string::npos);
}

TEST_CASE("BatchNorm and what is left of a window that counts samples or tokens") {
  const auto with = [](const std::string& window, const std::string& more, const std::string& take) {
    Parts parts = canonical();
    parts.model = "cnn(channels: [8], batch_norm: true)";
    parts.data = "train = idx(images: \"i.gz\", labels: \"l.gz\"" + take + "); micro_batch = 32 samples";
    parts.loss = "loss = cross_entropy() per samples";
    parts.window = window;
    parts.more = "batch_norm = per_micro; checkpoint { path = \"c\"; every = 9 updates }; " + more;
    return checked(parts);
  };
  const Codes split{"L802:9"}, both{"L802:9", "L809:9"};
  const std::string carry = "; tail = carry";
  CHECK(with("size = 64 samples" + carry, "ranks = 1", "").findings(Severity::note) == split);
  CHECK(with("size = 128 samples" + carry, "ranks = 2", "").findings(Severity::note) == split);
  const Checked one = with("size = 65 samples" + carry, "ranks = 1", "");
  CHECK(one.findings(Severity::note) == both);
  CHECK(one.find("L809")->message.find("the last micro-batch of a window can hold 1 sample:") !=
        std::string::npos);
  // 34, 33 and 33 samples on three ranks
  CHECK(with("size = 100 samples" + carry, "ranks = 3", "").findings(Severity::note) == both);
  // 40 samples: 8 are left over
  CHECK(with("size = 40 samples" + carry, "ranks = 1", "").findings(Severity::note) == split);
  // Nothing says how the window is shared, or how large the last one is.
  CHECK(with("size = 64 samples" + carry, "", "").findings(Severity::note) == both);
  CHECK(with("size = 64 samples; tail = flush", "ranks = 1", "").findings(Severity::note) == both);
  CHECK(with("size = 64 samples; tail = flush", "ranks = 1", ", take: first(640 samples)")
            .findings(Severity::note) == split);
  CHECK(with("size = 64 samples; tail = flush", "ranks = 1", ", take: first(641 samples)")
            .findings(Severity::note) == both);
  CHECK(with("size = ramp(32 -> 64 samples, over: 9 updates)" + carry, "ranks = 1", "")
            .findings(Severity::note) == both);
}

TEST_CASE("short micro-batches are not dropped from windows that count samples or tokens") {
  Parts parts = canonical();
  parts.window = "size = 64 samples; tail = flush";
  CHECK(errors(parts) == Codes{"L404:3"});
  parts.window = "size = 1000 tokens; tail = flush";
  CHECK(errors(parts) == Codes{"L404:3"});
}

TEST_CASE("gradients rounded on their way") {
  Parts parts = canonical();
  parts.window = "size = 4 micro_batches; tail = flush; compress = bf16";
  CHECK(all(parts) == Codes{"L215:5"});
  parts.more = "ranks = 1";
  CHECK(all(parts) == Codes{});
  parts.more = "";
  parts.window = "size = 4 micro_batches; tail = flush; compress = none";
  CHECK(all(parts) == Codes{});
}

TEST_CASE("a micro-batch that the run chooses") {
  Parts parts = canonical();
  parts.data = "train = lines(\"corpus.txt\", tokenizer: byte); micro_batch = auto";
  parts.window = "size = 64 samples; tail = flush";
  CHECK(errors(parts) == Codes{"L043:1"});
  parts.more = "memory = 2 GiB";
  CHECK(all(parts) == Codes{});
  parts.window = "size = 4096 tokens; tail = flush";
  CHECK(all(parts) == Codes{});
  parts.window = "size = 4 micro_batches; tail = flush";
  CHECK(all(parts) == Codes{"L813:5"});
  parts.window = "size = 64 samples; tail = flush";
  parts.loss = "loss = cross_entropy(ignore: -100) per micro_batch";
  CHECK(errors(parts) == Codes{"L812:3"});
  parts.loss = "loss = info_nce() per micro_batch";
  CHECK(errors(parts) == Codes{"L812:3"});
  parts.loss = "loss = cross_entropy(ignore: -100) per tokens";
  CHECK(after(parts, [](sema::Spec& spec) { spec.model.facts.couples_samples = true; }) ==
        Codes{"L812:3", "L805:2"});
  parts.data = "train = idx(images: \"i.gz\", labels: \"l.gz\"); micro_batch = auto";
  parts.loss = "loss = cross_entropy() per samples";
  parts.model = "cnn(channels: [8], batch_norm: true)";
  parts.more = "memory = 2 GiB; batch_norm = per_micro";
  CHECK(all(parts) == Codes{"L812:3"});
  parts.more = "memory = 2 GiB; batch_norm = across_ranks";
  CHECK(errors(parts) == Codes{"L812:3"});
  parts.more = "memory = 2 GiB; batch_norm = frozen";
  CHECK(all(parts) == Codes{});
  Parts given = canonical();
  given.more = "memory = 2 GiB";
  CHECK(all(given) == Codes{"L814:9"});
}

TEST_CASE("models that couple samples or recompute") {
  const auto coupled = [](sema::Spec& spec) { spec.model.facts.couples_samples = true; };
  CHECK(after(canonical(), coupled) == Codes{"L805:2"});
  Parts one = canonical();
  one.window = "size = 1 micro_batches; tail = flush";
  one.more = "ranks = 1";
  CHECK(after(one, coupled) == Codes{});
  CHECK(after(one, [](sema::Spec& spec) {
          spec.model.facts.batch_norm = spec.model.facts.recompute = true;
          spec.batch_norm.value = plan::BatchNorm::across_ranks;
        }) == Codes{"L905:2"});
}

TEST_CASE("an evaluation of what is no sum over units") {
  Parts parts = canonical();
  parts.model = "mlp(hidden: [8])";
  parts.data =
      "train = npy(inputs: \"x.npy\", targets: \"y.npy\"); valid = npy(inputs: \"u.npy\", targets: "
      "\"v.npy\"); micro_batch = 8 samples";
  parts.window = "size = 1 micro_batches; tail = flush";
  parts.more = "evaluate held_out { on = valid; every = 20 updates; metrics = [loss] }";
  parts.loss = "loss = info_nce() per micro_batch";
  CHECK(all(parts) == Codes{"L904:9"});
  parts.loss = "loss = mse() per samples";
  CHECK(all(parts) == Codes{});
}

TEST_CASE("windows in samples of many micro-batches") {
  Parts parts = canonical();
  parts.data = kKept;
  parts.window = "size = 480 samples; tail = flush";
  CHECK(all(parts) == Codes{});
  parts.more = "ranks = 1";
  CHECK(all(parts) == Codes{"L807:5"});
}

TEST_CASE("a loop with a meaning error in its program is not judged for its order") {
  CHECK(errors({.micro = "when samples.micro > 0 { sync_on(last) { forward; loss; backward } }"}) ==
        Codes{"L088:6"});
}

TEST_CASE("one normalize for counts under different masks names the masks") {
  const Checked found = checked(
      Parts{.loss = "loss { main = cross_entropy(ignore: -100) per tokens; z = 0.1 * z_loss() per tokens }"});
  const diagnostics::Diagnostic* one = found.find("L307");
  REQUIRE(one);
  REQUIRE(one->labels.size() == 2);
  CHECK(one->labels[0].text == "counts tokens with `ignore: -100`");
  CHECK(one->labels[1].text == "counts tokens");
}
