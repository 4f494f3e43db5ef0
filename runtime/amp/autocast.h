// Forward passes in lower precision: LibTorch's autocast as scopes, and the life of its cache of cast
// parameters.
#pragma once

#include <ATen/core/Tensor.h>

#include "runtime/plan/plan.h"

namespace loop::amp {

/// Operations in its scope, on this thread, run in the precision of `mode` where LibTorch holds that to be
/// safe; `off` changes nothing. The state before comes back at its end. On CPU.
class Autocast {
 public:
  explicit Autocast(plan::AmpMode mode);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool active_;
  bool was_enabled_ = false;
  bool was_caching_ = false;
  bool other_within_ = false;
  at::ScalarType dtype_before_ = at::kFloat;
};

/// Around passes between which no parameter changes (a window, an evaluation): each parameter is cast once
/// for all `Autocast` scopes within. It begins and ends with an empty cache, so that nothing cast before or
/// for another purpose is used: a cast made without gradients has no way back to its parameter, and one made
/// before a step is the old parameter. `off` does nothing.
class KeptCasts {
 public:
  explicit KeptCasts(plan::AmpMode mode);
  ~KeptCasts();
  KeptCasts(const KeptCasts&) = delete;
  KeptCasts& operator=(const KeptCasts&) = delete;

 private:
  bool active_;
};

/// The parameters have changed, or are about to be read for another purpose: their casts are dropped.
void drop_casts();

}  // namespace loop::amp
