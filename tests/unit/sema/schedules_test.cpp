#include <doctest/doctest.h>

#include <cmath>

#include "tests/unit/sema/analysis.h"

using namespace loop;
using loop::testing::Analysis;
using loop::testing::kTiny;
using loop::testing::replace;

namespace {

const double kPi = std::acos(-1.0);

/// The rate of a tiny loop whose `lr` is `text`, at a value of its clock and of `horizon`.
struct Rate {
  Analysis analysis;
  plan::Expression value;

  explicit Rate(const std::string& text)
      : analysis(
            "use std.schedules.constant\nuse std.schedules.linear\nuse std.schedules.cosine\nuse "
            "std.schedules.warmup\nuse std.schedules.warmup_cosine\n"
            "use std.schedules.warmup_linear\nuse std.schedules.step\nuse std.schedules.wsd\nuse "
            "std.schedules.polynomial\nuse std.schedules.exponential\n"
            "use std.schedules.inverse_sqrt\n" +
            replace(kTiny, "lr: 0.1", "lr: " + text)),
        value(*analysis.spec().update.operations[1].op.rule.find("lr")) {}

  double at(double clock, double horizon = 100, const std::string& name = "updates") const {
    auto result = plan::evaluate(value, [&](std::string_view variable) -> std::optional<double> {
      if (variable == "horizon") return horizon;
      if (variable == name) return clock;
      return std::nullopt;
    });
    REQUIRE(result);
    return *result;
  }
};

}  // namespace

TEST_CASE("the standard schedules give their formulas") {
  using doctest::Approx;
  CHECK(Rate("constant(value: 0.5)").at(7) == 0.5);
  Rate linear("linear(from: 1, to: 0.2, total: 100 updates)");
  CHECK(linear.at(0) == 1);
  CHECK(linear.at(50) == Approx(0.6));
  CHECK(linear.at(500) == Approx(0.2));
  Rate cosine("cosine(peak: 1, floor: 0.1, total: horizon)");
  CHECK(cosine.at(0) == 1);
  CHECK(cosine.at(50) == Approx(0.55));
  CHECK(cosine.at(25) == Approx(0.1 + 0.9 * 0.5 * (1 + std::cos(kPi / 4))));
  CHECK(cosine.at(100) == Approx(0.1));
  Rate warmup("warmup(peak: 1, warmup: 10 updates)");
  CHECK(warmup.at(0) == Approx(0.1));
  CHECK(warmup.at(9) == Approx(1));
  CHECK(warmup.at(99) == 1);
  Rate both("warmup_cosine(peak: 2, warmup: 10%, total: horizon)");
  CHECK(both.at(0) == Approx(0.2));
  CHECK(both.at(10) == Approx(2));
  CHECK(both.at(55) == Approx(1));
  CHECK(both.at(100) == Approx(0));
  CHECK(both.at(0, 1000) == Approx(0.02));  // a percentage is of `total`
  Rate ramp("warmup_linear(peak: 2, warmup: 10%, total: horizon)");
  CHECK(ramp.at(55) == Approx(1));
  Rate steps("step(value: 1, gamma: 0.5, every: 30 epochs)");
  CHECK(steps.analysis.spec().schedules[0].clock == plan::Clock::epochs);
  CHECK(steps.at(29, 0, "epochs") == 1);
  CHECK(steps.at(30, 0, "epochs") == 0.5);
  CHECK(steps.at(95, 0, "epochs") == 0.125);
  Rate wsd("wsd(peak: 1, warmup: 10%, decay: 20%, total: horizon)");
  CHECK(wsd.at(4) == Approx(0.5));
  CHECK(wsd.at(50) == 1);
  CHECK(wsd.at(90) == Approx(0.5));
  CHECK(wsd.at(100) == Approx(0));
  CHECK(Rate("polynomial(peak: 1, power: 2, total: 100 updates)").at(50) == Approx(0.25));
  CHECK(Rate("exponential(value: 1, gamma: 0.5)").at(3) == Approx(0.125));
  // No warm-up at all: the first update already has the peak.
  CHECK(Rate("warmup_cosine(peak: 2, warmup: 0 updates, total: horizon)").at(0) == Approx(2));
  CHECK(Rate("wsd(peak: 2, warmup: 0%, decay: 0%, total: horizon)").at(50) == 2);
  Rate root("inverse_sqrt(peak: 1, warmup: 16 updates)");
  CHECK(root.at(15) == Approx(1));
  CHECK(root.at(63) == Approx(0.5));
}

TEST_CASE("a schedule's clock comes from the units of its lengths") {
  CHECK(Rate("cosine(peak: 1, total: 5000 tokens)").analysis.spec().schedules[0].clock ==
        plan::Clock::tokens);
  CHECK(Rate("cosine(peak: 1, total: 2 h)").analysis.spec().schedules[0].clock == plan::Clock::seconds);
  CHECK(Rate("cosine(peak: 1, total: 500)").analysis.spec().schedules[0].clock == plan::Clock::updates);
  CHECK(Rate("cosine(peak: 1, total: 500, clock: attempts)").analysis.spec().schedules[0].clock ==
        plan::Clock::attempts);
  CHECK(Rate("cosine(peak: 1, total: 500 attempts, clock: attempts)").at(250, 0, "attempts") ==
        doctest::Approx(0.5));
  CHECK(Rate("wsd(peak: 1, warmup: 1000 tokens, decay: 10%, total: 10_000 tokens)").at(9500, 0, "tokens") ==
        doctest::Approx(0.5));
}

TEST_CASE("rates are expressions, and schedules stand anywhere in them") {
  CHECK(Rate("2 * warmup(peak: 1, warmup: 10 updates) + 1").at(99) == 3);
  CHECK(Rate("warmup(peak: linear(from: 1, to: 0, total: horizon), warmup: 10 updates)").at(50) ==
        doctest::Approx(0.5));
  CHECK(Rate("if 1 < 2 then 0.5 else 1").at(0) == 0.5);
  CHECK(Rate("cosine(peak: 1, total: horizon - 20 updates)").at(40) == doctest::Approx(0.5));
}

TEST_CASE("a number times a length is no length") {
  Analysis analysis("schedule wave(clock, peak, total) = peak * 0.5 * (1 + cos(pi * clock / total))\n\n" +
                    replace(kTiny, "lr: 0.1", "lr: wave(peak: 1, total: 100 updates)"));
  CAPTURE(analysis.text());
  CHECK(analysis.engine.diagnostics().empty());
}

TEST_CASE("a user's schedule, built on another") {
  Analysis analysis(
      "use std.schedules.linear\nschedule halved(clock, from, total) = 0.5 * linear(from: from, to: 0, "
      "total: total)\n\n" +
      replace(kTiny, "lr: 0.1", "lr: halved(from: 1, total: 100 attempts)"));
  CAPTURE(analysis.text());
  CHECK(analysis.engine.diagnostics().empty());
  CHECK(analysis.spec().schedules.size() == 2);
  CHECK(analysis.spec().schedules[1].schedule == "halved");
  const plan::Expression& lr = *analysis.spec().update.operations[1].op.rule.find("lr");
  CHECK(plan::variables(lr) == std::set<std::string>{"attempts"});
}
