// The number of updates that the check foresees is the one that the run counts.
#include "compiler/check/rules/epoch_windows.h"

#include <doctest/doctest.h>

#include <random>

#include "loop/error.h"
#include "runtime/data/window_extent.h"
#include "tests/unit/check/checked.h"

using namespace loop;
using namespace loop::tests;
using diagnostics::Severity;
using Unit = plan::WindowSize::Unit;

namespace {

constexpr int64_t kContext = 16;  // of the model in Parts

/// What the run counts; nothing where it refuses.
std::optional<int64_t> counted(const sema::Spec& spec, int64_t epochs) {
  data::WindowFormerOptions options;
  options.size_samples = *spec.data.sources[0].facts.size_samples;
  options.micro_batch_samples = spec.data.micro_batch_samples.value;
  options.short_policy = spec.data.short_policy.value;
  options.window = spec.window.size.value;
  options.tail = *spec.window.tail.value;
  options.ranks = *spec.ranks.value;
  options.tokens = [](int64_t) { return kContext; };
  options.positions = options.tokens;
  try {
    return data::count_windows(options, epochs);
  } catch (const Error&) {
    return std::nullopt;
  }
}

sema::Spec drawn(sema::Spec spec, std::mt19937& random) {
  const auto below = [&](int64_t most) { return std::uniform_int_distribution<int64_t>(1, most)(random); };
  spec.data.sources[0].facts.equal_counts = true;
  spec.data.sources[0].facts.size_samples = below(60);
  spec.data.micro_batch_samples.value = below(5);
  spec.ranks.value = below(3);
  spec.window.tail.value = std::array{plan::Tail::flush, plan::Tail::carry, plan::Tail::drop}[below(3) - 1];
  spec.data.short_policy.value =
      std::array{plan::ShortPolicy::keep, plan::ShortPolicy::drop, plan::ShortPolicy::pad}[below(3) - 1];
  plan::WindowSize& size = spec.window.size.value;
  size.unit = std::array{Unit::micro_batches, Unit::samples, Unit::tokens}[below(3) - 1];
  const int64_t scale = size.unit == Unit::tokens ? kContext : 1;
  size.value = below(9 * scale);
  size.ramp.reset();
  if (below(2) == 1) {
    const auto clock =
        std::array{plan::Clock::updates, plan::Clock::samples, plan::Clock::epochs}[below(3) - 1];
    size.ramp = plan::WindowSize::Ramp{below(9 * scale), clock, static_cast<double>(below(4))};
  }
  return spec;
}

}  // namespace

TEST_CASE("as many updates are foreseen as the run counts") {
  Parts parts{.micro = "", .update = "step sgd(lr: 0.1)"};
  const Checked base = checked(parts);
  REQUIRE(base.specs.size() == 1);
  std::mt19937 random(7);
  int foreseen = 0;
  for (int i = 0; i < 20'000; ++i) {
    const sema::Spec spec = drawn(base.specs.front(), random);
    const int64_t epochs = 1 + i % 4;
    const std::optional<check::PlannedWindows> planned = check::windows_in(spec, epochs);
    const std::optional<int64_t> runs = counted(spec, epochs);
    if (!planned) continue;
    ++foreseen;
    // Where the run refuses, there is nothing to compare.
    if (!runs) continue;
    INFO("samples " << *spec.data.sources[0].facts.size_samples << ", micro-batch "
                    << spec.data.micro_batch_samples.value << ", ranks " << *spec.ranks.value << ", "
                    << planned->reckoning);
    REQUIRE(planned->windows == *runs);
  }
  CHECK(foreseen > 15'000);
}

TEST_CASE("a schedule is held against the updates that the epochs have") {
  const auto with = [](const std::string& window, const std::string& total) {
    Parts parts;
    parts.micro = "";
    parts.model = "mlp(hidden: [8])";
    parts.data =
        "train = csv(\"rows.csv\", target: \"y\", task: classification, take: first(100 samples)); "
        "micro_batch = 8 "
        "samples";
    parts.loss = "loss = cross_entropy() per samples";
    parts.window = window;
    parts.update = "step sgd(lr: warmup_cosine(peak: 0.1, warmup: 1 updates, total: " + total + "))";
    parts.stop = "3 epochs";
    parts.more = "ranks = 1; checkpoint { path = \"c\"; every = 10 updates }";
    return checked(parts);
  };
  // 13 micro-batches an epoch: 12 updates with `flush`, 9 with `carry` and `drop`.
  const std::string four = "size = 4 micro_batches; tail = ";
  CHECK(with(four + "flush", "12 updates").findings(Severity::note) == Codes{});
  CHECK(with(four + "carry", "9 updates").findings(Severity::note) == Codes{});
  CHECK(with(four + "drop", "9 updates").findings(Severity::note) == Codes{});
  CHECK(with(four + "carry", "horizon").findings(Severity::note) == Codes{});
  const Checked carry = with(four + "carry", "12 updates");
  CHECK(carry.findings(Severity::note) == Codes{"L605:7"});
  CHECK(carry.notes("L605", "3 epochs of 13 micro-batches, 4 per window, `tail = carry`, have 9 updates"));
  CHECK(with(four + "carry", "6 updates").findings(Severity::note) == Codes{"L604:7"});
  // 300 samples as one stream, 30 at a time
  CHECK(with("size = 30 samples; tail = carry", "10 updates").findings(Severity::note) == Codes{});
  CHECK(with("size = 30 samples; tail = flush", "12 updates").findings(Severity::note) == Codes{});
  CHECK(with("size = 30 samples; tail = flush", "9 updates").findings(Severity::note) == Codes{"L604:7"});
  // windows of 1, 1, 2, 2, 3, 3 and then 4 of 39 micro-batches
  const std::string ramp = "size = ramp(1 -> 4 micro_batches, over: 6 updates); tail = carry";
  CHECK(with(ramp, "12 updates").findings(Severity::note) == Codes{});
  CHECK(with(ramp, "9 updates").findings(Severity::note) == Codes{"L604:7"});
}
