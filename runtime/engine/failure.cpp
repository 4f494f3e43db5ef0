#include "runtime/engine/failure.h"

#include <c10/util/Exception.h>

#include <new>
#include <string_view>

namespace loop::engine {

namespace {

/// LibTorch's allocator for the host reports by a plain c10::Error, as in "… can't allocate memory: you tried
/// to allocate 64 bytes. Error code 12 (Cannot allocate memory)".
constexpr std::string_view kHostAllocator = "can't allocate memory";
constexpr std::string_view kTried = "you tried to allocate ";

std::string tried(std::string_view text) {
  const size_t at = text.find(kTried);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = text.substr(at + kTried.size());
  const std::string_view bytes = rest.substr(0, rest.find_first_not_of("0123456789"));
  return bytes.empty() ? "" : ": " + std::string(bytes) + " bytes were asked for";
}

}  // namespace

std::optional<Error> out_of_memory(const std::exception& error) {
  const bool certain = dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
                       dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr;
  const std::string_view text = error.what();
  if (!certain && text.find(kHostAllocator) == std::string_view::npos) return std::nullopt;
  return Error(ErrorKind::training, "out of memory" + tried(text),
               "make micro-batches smaller (the gradient of a window does not depend on it), or let the run "
               "choose: `micro_batch = auto` with `memory = …`; `recompute: blocks` of a model keeps less");
}

std::string reason(const std::exception& error) {
  if (const auto memory = out_of_memory(error)) return memory->what();
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  return of_torch ? of_torch->what_without_backtrace() : error.what();
}

void tell_all(distributed::Communicator& ranks, const std::exception& error) {
  if (dynamic_cast<const distributed::RemoteError*>(&error))
    return;  // the rank that failed has told everybody
  if (const auto* known = dynamic_cast<const Error*>(&error)) {
    if (known->kind() != ErrorKind::distributed) ranks.announce(*known);
    return;
  }
  ranks.announce(out_of_memory(error).value_or(Error(ErrorKind::internal, reason(error))));
}

}  // namespace loop::engine
