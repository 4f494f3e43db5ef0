// The gradient's buckets: how parameters become the collectives of a reduction over ranks. The runtime forms
// its buckets by this rule and `loopc plan --ranks` predicts by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace loop::plan {

/// A bucket is at most this large; a larger parameter is a bucket of its own.
inline constexpr int64_t kBucketBytes = int64_t{16} << 20;

/// The environment's variable that says otherwise, for all ranks.
inline constexpr const char* kBucketBytesVariable = "LOOP_BUCKET_BYTES";

/// Its value in bytes; nothing when it is not a positive whole number.
std::optional<int64_t> bucket_bytes_of(std::string_view value);

/// One parameter's place in its group's gradient arena, which has no gaps.
struct SlotSize {
  int64_t elements = 0;
  bool shared = false;  // fed by several tensors: only the end of backward says that it is complete
};

/// A run of neighbouring slots of one group.
struct BucketShape {
  size_t group = 0;
  int64_t offset = 0;  // elements from the start of the group's arena
  int64_t size = 0;    // elements
  size_t first_slot = 0;
  size_t slot_count = 0;
  bool waits_for_end = false;  // its slots are shared ones
};

/// The slots of each group (in the order of the arena) cut into buckets of at most `bucket_bytes`, in the
/// order of their launch: those whose gradients a backward pass completes first (the model's last layers)
/// first, the shared ones last. `element_bytes`: of one gradient element. It rests on the model alone, so
/// that every rank forms the same.
std::vector<BucketShape> make_buckets(const std::vector<std::vector<SlotSize>>& groups, int64_t element_bytes,
                                      int64_t bucket_bytes = kBucketBytes);

}  // namespace loop::plan
