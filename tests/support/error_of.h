// What a test expects to be thrown, in words.
#pragma once

#include <string>

#include "loop/error.h"

namespace loop::testing {

/// What `body` throws as loop::Error: its message and repair; empty when nothing is thrown.
template <class Body>
std::string error_of(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return std::string(error.what()) + " | " + error.repair();
  }
  return "";
}

}  // namespace loop::testing
