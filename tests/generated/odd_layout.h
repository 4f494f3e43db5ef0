// A neat text written as nobody should: other blanks, line ends, one-line blocks, breaks where they do not
// count.
#pragma once

#include <random>
#include <string>

namespace loop::generated {

/// Changes only what the language does not read: the tree stays the same.
std::string lay_out_oddly(const std::string& text, std::mt19937_64& random);

}  // namespace loop::generated
