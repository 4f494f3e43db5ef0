// Names by pattern: what `params { … }` matches parameters with.
#pragma once

#include <string_view>

namespace loop::plan {

/// Shell-style match of the whole text: `*` stands for any run of characters (none and dots too), `?` for
/// one;
/// `[…]` is not special.
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace loop::plan
