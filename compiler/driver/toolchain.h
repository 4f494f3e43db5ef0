// What is installed around loopc, as `loopc doctor` reports it.
#pragma once

#include <string>
#include <vector>

namespace loop::driver {

enum class State {
  good,
  absent,  // not there, and nothing this build does needs it
  wrong,   // needed and missing or broken
};

struct Finding {
  std::string part;   // "LibTorch"
  std::string found;  // "2.14.1 (/path)"; empty when nothing was found
  State state = State::good;
  std::string remark;  // what it is for, or what to do
};

/// Looks at every part, in the order they are shown. Starts small programs (`looprun`, `nvcc`,
/// `llvm-config`), each for seconds at most; never throws for what is missing or broken.
std::vector<Finding> examine_installation();

}  // namespace loop::driver
