// A loss that couples the samples of a batch.
#pragma once

#include <memory>

#include "loop/loss.h"

namespace loop::losses {

/// InfoNCE (van den Oord et al. 2018, equation 4): outputs and real-valued targets are embeddings [n, d];
/// with s_ij = cos(output_i, target_j)/temperature, ℓ_i = −log(exp(s_ii)/Σ_j exp(s_ij)). The sum runs over
/// the rows that count, which are also the only negatives: padding is nobody's negative. Throws loop::Error
/// (findings) for unknown arguments and for `negatives: window`, which this build cannot do.
std::unique_ptr<Loss> make_info_nce(const plan::Component& component);

}  // namespace loop::losses
