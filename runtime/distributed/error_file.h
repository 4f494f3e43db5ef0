// The file in which torchrun's agent looks for why a worker ended.
#pragma once

#include <string>

#include "loop/error.h"

namespace loop::distributed {

/// Writes TORCHELASTIC_ERROR_FILE, if the environment names one and nobody wrote it before: its JSON form is
/// what torchrun prints. Never throws.
void write_error_file(const Error& error) noexcept;

}  // namespace loop::distributed
