// The text of one comment, read as an allowance.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loop::driver {

struct AllowanceComment {
  struct Name {
    std::string text;
    uint32_t at = 0;  // byte within the comment
  };
  bool whole_file = false;
  std::vector<Name> names;            // codes or names of findings, as written
  std::optional<std::string> reason;  // absent: none is given
  std::string fault;                  // why it cannot be read; empty when it can
};

/// `# loop: allow(…)` or `# loop: allow-file(…)`. Nothing for a comment that is not meant to be one: it is
/// when after `# loop:` comes a word with `(`, or one that begins with `allow`.
std::optional<AllowanceComment> read_allowance_comment(std::string_view comment);

}  // namespace loop::driver
