// Decisions that the spec leaves open (guards over clocks): every combination is executed.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace loop::check {

class Choices {
 public:
  /// The same question has the same answer until `forget`.
  bool decide(const std::string& question);
  void forget() { answers_.clear(); }
  /// Next combination; false when all have been tried or there are too many.
  bool next();

 private:
  static constexpr size_t kMostOpen = 8;  // 2^8 executions at most
  std::vector<bool> script_;
  size_t position_ = 0;
  std::map<std::string, bool> answers_;
};

}  // namespace loop::check
