// What every subcommand gets: its streams, and the error that means "asked for wrongly".
#pragma once

#include <istream>
#include <ostream>
#include <stdexcept>

namespace loop::driver {

struct Context {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool color_out = false;
  bool color_err = false;
};

/// The command cannot be carried out as it was given: ends with kUsage.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Something this installation needs is missing or broken: ends with kInternal.
class InstallationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace loop::driver
