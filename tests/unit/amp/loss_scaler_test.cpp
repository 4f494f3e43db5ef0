// What the loss scaler adds to PyTorch's (tests/amp compares the two): a floor, and a state to save.
#include "runtime/amp/loss_scaler.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "loop/error.h"

namespace loop::amp {
namespace {

plan::Amp rule(double init_scale, double min_scale = 1, int64_t growth_interval = 3) {
  plan::Amp amp;
  amp.mode = plan::AmpMode::fp16;
  amp.init_scale = init_scale;
  amp.min_scale = min_scale;
  amp.growth_interval = growth_interval;
  return amp;
}

TEST_CASE("B28: the scale stops at its floor: 16 halvings from 65536, not 91 to 5e-23") {
  LossScaler scaler(rule(65536));
  int halvings = 0;
  while (!scaler.at_floor()) {
    scaler.update(false);
    ++halvings;
  }
  CHECK(halvings == 16);
  for (int i = 0; i < 75; ++i) scaler.update(false);
  CHECK(scaler.scale() == 1);
  LossScaler odd(rule(100, 30));
  odd.update(false);
  CHECK(odd.scale() == 50);
  odd.update(false);
  CHECK(odd.scale() == 30);
  CHECK(odd.at_floor());
}

TEST_CASE("B24: a scaler that goes on from a saved state is the one that was saved") {
  LossScaler straight(rule(65536)), first(rule(65536));
  const bool verdicts[] = {false, true, true, false, true, true, true, true, false, true, true, true};
  for (int saved_at = 0; saved_at < 12; ++saved_at) {
    straight = first = LossScaler(rule(65536));
    for (int i = 0; i < 12; ++i) {
      if (i == saved_at) {
        LossScaler resumed(rule(65536));
        resumed.restore(first.state());
        first = resumed;
      }
      straight.update(verdicts[i]);
      first.update(verdicts[i]);
      CHECK(first.state() == straight.state());
    }
  }
  CHECK(straight.scale() == 32768);
}

TEST_CASE("a state that no scaler can have is refused") {
  LossScaler scaler(rule(65536));
  for (const ScalerState& bad : {ScalerState{0, 0}, ScalerState{-2, 0}, ScalerState{NAN, 0},
                                 ScalerState{1e300, 0}, ScalerState{0.1, 0}, ScalerState{2, -1}}) {
    CHECK_THROWS_AS(scaler.restore(bad), Error);
  }
  CHECK(scaler.scale() == 65536);
}

TEST_CASE("a saved count beyond a shorter growth_interval grows at the next applied window") {
  LossScaler scaler(rule(64, 1, 3));
  scaler.restore({64, 500});
  scaler.update(true);
  CHECK(scaler.state() == ScalerState{128, 0});
}

TEST_CASE("settings with which a scale would not behave are refused") {
  const auto refused = [](auto change) {
    plan::Amp amp = rule(65536);
    change(amp);
    try {
      const LossScaler scaler(amp);
      return false;
    } catch (const Error& error) {
      return error.kind() == ErrorKind::findings;
    }
  };
  CHECK(refused([](plan::Amp& a) { a.init_scale = 0; }));
  CHECK(refused([](plan::Amp& a) { a.init_scale = std::numeric_limits<double>::infinity(); }));
  CHECK(refused([](plan::Amp& a) { a.init_scale = 1e39; }));
  CHECK(refused([](plan::Amp& a) { a.init_scale = 0.5; }));  // below the floor of 1
  CHECK(refused([](plan::Amp& a) { a.min_scale = 0; }));
  CHECK(refused([](plan::Amp& a) { a.growth_factor = 0.5; }));
  CHECK(refused([](plan::Amp& a) { a.backoff_factor = 1; }));
  CHECK(refused([](plan::Amp& a) { a.backoff_factor = 0; }));
  CHECK(refused([](plan::Amp& a) { a.growth_interval = 0; }));
  CHECK_FALSE(refused([](plan::Amp&) {}));
}

}  // namespace
}  // namespace loop::amp
