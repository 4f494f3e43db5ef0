// What ends a run: in words for a person, and for the other ranks.
#pragma once

#include <exception>
#include <optional>
#include <string>

#include "loop/error.h"
#include "runtime/distributed/communicator.h"

namespace loop::engine {

/// The error (training) that a person gets for an exception that says an allocation failed: that of the C++
/// library, or LibTorch's for the host and for devices. Nothing for others.
std::optional<Error> out_of_memory(const std::exception& error);

/// What happened, without LibTorch's trace of addresses, which says nothing to a reader.
std::string reason(const std::exception& error);

/// Lets the other ranks end with the same error, unless it came from them.
void tell_all(distributed::Communicator& ranks, const std::exception& error);

}  // namespace loop::engine
