// How a benchmark talks with a peer: the peer says `ready`; each line with a number of windows is answered by
// wall and CPU seconds.
#pragma once

#include <cstdint>

namespace bench {

/// Counts windows down and answers when a batch of them is done.
class Pace {
 public:
  /// Says `ready` and waits for the first number. False at the end of the input.
  bool begin();
  /// One window is done. Returns false when nothing more is asked for.
  bool window_done();

 private:
  bool next();

  int64_t left_ = 0;
  double wall_ = 0;
  double cpu_ = 0;
};

}  // namespace bench
