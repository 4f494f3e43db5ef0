// Edits of a text, and the canonical layout of what they leave.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diagnostics/engine.h"

namespace loop::fixes {

using diagnostics::Edit;

/// The text with every edit made. Nothing when two edits overlap or one lies outside of the text.
std::optional<std::string> apply_edits(std::string_view text, std::vector<Edit> edits);

/// The formatter's form of a text; nothing when the text has syntax errors.
std::optional<std::string> canonical_layout(const std::string& text);

/// The smallest single edit that turns `before` into `after`; it cuts no character in two.
Edit difference(std::string_view before, std::string_view after, base::FileId file);

}  // namespace loop::fixes
