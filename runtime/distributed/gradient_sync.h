// Reduces the gradient over ranks: buckets are slices of the gradient arenas, and their all-reduces start
// while the backward pass still works on earlier layers.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/distributed/communicator.h"
#include "runtime/gradients/parameters.h"
#include "runtime/plan/buckets.h"
#include "runtime/plan/plan.h"

namespace loop::distributed {

/// A run of neighbouring slots of one group.
struct Bucket {
  size_t group = 0;
  int64_t offset = 0;  // elements
  int64_t size = 0;    // elements
  std::vector<const gradients::Slot*> slots;
  bool waits_for_end =
      false;  // a slot is fed by several tensors: only the end of backward says it is complete
};

/// The buckets of all groups by the rule of runtime/plan/buckets.h, in the order of their launch.
std::vector<Bucket> make_buckets(const std::vector<gradients::ParameterGroup>& groups, int64_t bucket_bytes);

class GradientSync {
 public:
  static constexpr int64_t kBucketBytes = plan::kBucketBytes;

  /// Both must outlive it. With one rank nothing is ever started. `compress`: the type in which buckets
  /// travel and are added up; the arenas keep theirs.
  GradientSync(gradients::Parameters& parameters, Communicator& ranks, int64_t bucket_bytes = kBucketBytes,
               plan::Compression compress = plan::Compression::none);
  ~GradientSync();
  GradientSync(const GradientSync&) = delete;
  GradientSync& operator=(const GradientSync&) = delete;

  size_t buckets() const { return buckets_.size(); }

  /// Before a backward that synchronises: each bucket is launched as soon as it and all before it are
  /// complete.
  void begin(const std::string& purpose);
  /// After that backward: launches what is left (parameters it did not reach hold zeros or what earlier
  /// micro-batches added).
  void launch_rest();
  /// Waits for all that was launched; the arenas then hold the sums over ranks.
  void wait();
  /// All buckets, now: begin, launch_rest, wait.
  void reduce(const std::string& purpose);

 private:
  void accumulated(const gradients::Slot& slot);
  void launch(size_t bucket);

  gradients::Parameters& parameters_;
  Communicator& ranks_;
  plan::Compression compress_;
  std::vector<Bucket> buckets_;
  std::unordered_map<const gradients::Slot*, size_t> bucket_of_;
  bool open_ = false;  // between begin and launch_rest
  std::string purpose_;
  std::vector<size_t> missing_;  // slots of each bucket whose gradient is not complete
  size_t next_ = 0;              // first bucket that was not launched
  struct Launched {
    std::unique_ptr<Pending> work;
    torch::Tensor slice;  // of the arena
    torch::Tensor sent;   // the rounded copy that travels; undefined when the slice itself does
  };
  std::vector<Launched> pending_;
};

}  // namespace loop::distributed
