// The sources of this folder, one file each. Their arguments are described in stdlib/sources/NAME.loop.
#pragma once

#include <memory>

#include "loop/source.h"

namespace loop::data {

using SourceFactory = std::unique_ptr<Source> (*)(const plan::Component& component,
                                                  const SourceContext& context);

/// One text file as token sequences of one length, one after the other. A remainder too short for a sequence
/// is left out.
std::unique_ptr<Source> make_text(const plan::Component& component, const SourceContext& context);
/// One token sequence per line, of unequal length. Lines of fewer than two tokens have nothing to predict and
/// are no samples.
std::unique_ptr<Source> make_lines(const plan::Component& component, const SourceContext& context);
/// Files of unsigned 16-bit little-endian token ids, as one stream, as token sequences of one length.
std::unique_ptr<Source> make_bin(const plan::Component& component, const SourceContext& context);
/// Grey images with their classes, in two IDX files.
std::unique_ptr<Source> make_idx(const plan::Component& component, const SourceContext& context);
/// Rows of a CSV file: numbers, with one or several columns as targets.
std::unique_ptr<Source> make_csv(const plan::Component& component, const SourceContext& context);
/// Two NumPy arrays whose first dimension is the sample.
std::unique_ptr<Source> make_npy(const plan::Component& component, const SourceContext& context);

}  // namespace loop::data
