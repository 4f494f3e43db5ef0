// Failures of a run that are not mistakes in the spec's words.
#pragma once

#include <stdexcept>
#include <string>

namespace loop {

/// What failed decides the exit code of the process.
enum class ErrorKind {
  findings =
      1,  // the spec does not fit what was found at start (a group without parameters, an unknown metric …)
  usage = 2,     // a file that is missing or unreadable, a malformed data file, a bad flag
  internal = 3,  // a broken invariant of ours
  training = 4,  // the run cannot go on: too many skipped updates, an empty window under `empty = error` …
  distributed = 5,  // another rank is lost or does not answer, or the ranks no longer agree
};

/// `what()` says what happened and where; `repair()` says what to do about it.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, std::string repair = "")
      : std::runtime_error(message), kind_(kind), repair_(std::move(repair)) {}
  ErrorKind kind() const { return kind_; }
  const std::string& repair() const { return repair_; }
  int exit_code() const { return static_cast<int>(kind_); }

 private:
  ErrorKind kind_;
  std::string repair_;
};

}  // namespace loop
