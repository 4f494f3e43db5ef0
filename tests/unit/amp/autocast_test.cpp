// The autocast scope and the life of its cache.
#include "runtime/amp/autocast.h"

#include <ATen/autocast_mode.h>
#include <doctest/doctest.h>
#include <torch/torch.h>

namespace loop::amp {
namespace {

using plan::AmpMode;

torch::Tensor weight() {
  return torch::full({8, 8}, 0.25, torch::requires_grad());
}

/// What an operation under autocast gets for this parameter.
torch::Tensor cast(const torch::Tensor& parameter, at::ScalarType to) {
  return at::autocast::cached_cast(to, parameter, at::kCPU);
}

TEST_CASE("autocast: operations run in the mode's precision, and the state before comes back") {
  const torch::Tensor w = weight(), x = torch::ones({2, 8});
  REQUIRE_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  const at::ScalarType before = at::autocast::get_autocast_dtype(at::kCPU);
  {
    const Autocast half(AmpMode::fp16);
    CHECK((torch::linear(x, w).scalar_type() == at::kHalf));
    {
      const Autocast brain(AmpMode::bf16);
      CHECK((torch::linear(x, w).scalar_type() == at::kBFloat16));
      const Autocast off(AmpMode::off);  // asks for nothing
      CHECK((torch::linear(x, w).scalar_type() == at::kBFloat16));
    }
    CHECK((torch::linear(x, w).scalar_type() == at::kHalf));
    CHECK((torch::linear(x.to(at::kDouble), w.to(at::kDouble)).scalar_type() == at::kDouble));
  }
  CHECK_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  CHECK((at::autocast::get_autocast_dtype(at::kCPU) == before));
  CHECK((torch::linear(x, w).scalar_type() == at::kFloat));
}

TEST_CASE("autocast: an exception leaves the state as it was") {
  try {
    const KeptCasts casts(AmpMode::fp16);
    const Autocast scope(AmpMode::fp16);
    throw std::runtime_error("a model that fails");
  } catch (const std::runtime_error&) {
  }
  CHECK_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  CHECK(at::autocast::increment_nesting() == 1);
  at::autocast::decrement_nesting();
}

TEST_CASE("kept casts: a parameter is cast once for all scopes of a window, and each backward is right") {
  const torch::Tensor w = weight(), x = torch::ones({2, 8});
  torch::Tensor first;
  {
    const KeptCasts casts(AmpMode::bf16);
    for (int k = 1; k <= 4; ++k) {
      torch::Tensor sum;
      {
        const Autocast scope(AmpMode::bf16);
        sum = torch::linear(x, w).to(at::kFloat).sum();
        const torch::Tensor used = cast(w, at::kBFloat16);
        if (!first.defined()) first = used;
        CHECK(used.is_same(first));
      }
      sum.backward();
      CHECK(torch::equal(w.grad(), torch::full({8, 8}, 2.0 * k)));
    }
  }
  const KeptCasts next(AmpMode::bf16);
  const Autocast scope(AmpMode::bf16);
  CHECK_FALSE(cast(w, at::kBFloat16).is_same(first));
}

TEST_CASE("kept casts: an autocast of the model's own does not drop them; alone it does") {
  const torch::Tensor w = weight();
  {
    const KeptCasts casts(AmpMode::fp16);
    torch::Tensor first;
    {
      const Autocast scope(AmpMode::fp16);
      first = cast(w, at::kHalf);
    }
    const Autocast again(AmpMode::fp16);
    CHECK(cast(w, at::kHalf).is_same(first));
  }
  torch::Tensor first;
  {
    const Autocast scope(AmpMode::fp16);
    first = cast(w, at::kHalf);
  }
  const Autocast scope(AmpMode::fp16);
  CHECK_FALSE(cast(w, at::kHalf).is_same(first));
}

TEST_CASE("kept casts: a step is seen by the next pass") {
  const torch::Tensor w = weight();
  const KeptCasts casts(AmpMode::fp16);
  const Autocast scope(AmpMode::fp16);
  CHECK(cast(w, at::kHalf)[0][0].item<double>() == 0.25);
  {
    const torch::NoGradGuard no_grad;
    w.fill_(0.5);
  }
  drop_casts();
  CHECK(cast(w, at::kHalf)[0][0].item<double>() == 0.5);
}

// A cast that is made without gradients has no way back to its parameter. If a later pass gets it from the
// cache, the parameter silently gets no gradient.
TEST_CASE("a pass without gradients over the same weights does not take them from training") {
  for (const AmpMode mode : {AmpMode::bf16, AmpMode::fp16}) {
    const torch::Tensor w = weight(), x = torch::ones({2, 8});
    const auto look = [&] {
      const torch::NoGradGuard no_grad;
      const Autocast scope(mode);
      return torch::linear(x, w);
    };
    const auto train = [&] {
      torch::Tensor sum;
      {
        const Autocast scope(mode);
        sum = torch::linear(x, w).to(at::kFloat).sum();
      }
      REQUIRE(sum.requires_grad());
      sum.backward();
      const torch::Tensor gradient = w.grad().clone();
      w.mutable_grad() = torch::Tensor();
      return gradient;
    };
    const torch::Tensor right = torch::full({8, 8}, 2.0);
    SUBCASE("an evaluation before the window") {
      {
        const KeptCasts evaluation(mode);
        CHECK_FALSE(look().requires_grad());
      }
      const KeptCasts window(mode);
      CHECK(torch::equal(train(), right));
    }
    SUBCASE("within the window, before and between its micro-batches") {
      const KeptCasts window(mode);
      CHECK_FALSE(look().requires_grad());
      CHECK(torch::equal(train(), right));
      CHECK_FALSE(look().requires_grad());
      CHECK(torch::equal(train(), right));
    }
    SUBCASE("within one scope, as a model does that looks at its outputs first") {
      const KeptCasts window(mode);
      torch::Tensor sum;
      {
        const Autocast scope(mode);
        look();
        sum = torch::linear(x, w).to(at::kFloat).sum();
      }
      sum.backward();
      CHECK(torch::equal(w.grad(), right));
    }
  }
}

}  // namespace
}  // namespace loop::amp
