#include "runtime/amp/autocast.h"

#include <ATen/autocast_mode.h>

#include "loop/error.h"

namespace loop::amp {

namespace {

constexpr at::DeviceType kDevice = at::kCPU;

at::ScalarType dtype_of(plan::AmpMode mode) {
  switch (mode) {
    case plan::AmpMode::bf16:
      return at::kBFloat16;
    case plan::AmpMode::fp16:
      return at::kHalf;
    case plan::AmpMode::off:
      break;
  }
  throw Error(ErrorKind::internal, "no lower precision without `amp`");
}

}  // namespace

Autocast::Autocast(plan::AmpMode mode) : active_(mode != plan::AmpMode::off) {
  if (!active_) return;
  was_enabled_ = at::autocast::is_autocast_enabled(kDevice);
  was_caching_ = at::autocast::is_autocast_cache_enabled();
  dtype_before_ = at::autocast::get_autocast_dtype(kDevice);
  // Within a scope of another precision: the cache does not tell casts to one type from those to another.
  other_within_ = was_enabled_ && dtype_before_ != dtype_of(mode);
  if (other_within_) at::autocast::clear_cache();
  at::autocast::set_autocast_dtype(kDevice, dtype_of(mode));
  at::autocast::set_autocast_cache_enabled(true);
  at::autocast::set_autocast_enabled(kDevice, true);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  if (!active_) return;
  // Outside of everything that keeps casts the cache must not outlive its scope.
  if (at::autocast::decrement_nesting() == 0 || other_within_) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(kDevice, was_enabled_);
  at::autocast::set_autocast_cache_enabled(was_caching_);
  at::autocast::set_autocast_dtype(kDevice, dtype_before_);
}

KeptCasts::KeptCasts(plan::AmpMode mode) : active_(mode != plan::AmpMode::off) {
  if (!active_) return;
  at::autocast::clear_cache();
  at::autocast::increment_nesting();
}

KeptCasts::~KeptCasts() {
  if (!active_) return;
  at::autocast::decrement_nesting();
  at::autocast::clear_cache();
}

void drop_casts() {
  at::autocast::clear_cache();
}

}  // namespace loop::amp
