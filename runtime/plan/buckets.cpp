#include "runtime/plan/buckets.h"

#include <algorithm>
#include <charconv>

namespace loop::plan {

std::optional<int64_t> bucket_bytes_of(std::string_view value) {
  int64_t bytes = 0;
  const char* end = value.data() + value.size();
  const auto [stop, problem] = std::from_chars(value.data(), end, bytes);
  const bool whole = problem == std::errc() && stop == end;
  return whole && bytes >= 1 ? std::optional(bytes) : std::nullopt;
}

std::vector<BucketShape> make_buckets(const std::vector<std::vector<SlotSize>>& groups, int64_t element_bytes,
                                      int64_t bucket_bytes) {
  const int64_t most = std::max<int64_t>(1, bucket_bytes / element_bytes);
  std::vector<BucketShape> buckets;
  std::vector<int64_t> totals;
  for (size_t g = 0; g < groups.size(); ++g) {
    int64_t offset = 0;
    for (const SlotSize& slot : groups[g]) offset += slot.elements;
    totals.push_back(std::max<int64_t>(offset, 1));
    bool open = false;
    // From the end: what a backward pass completes first fills the first bucket.
    for (size_t s = groups[g].size(); s-- > 0;) {
      const SlotSize& slot = groups[g][s];
      if (!open || buckets.back().size + slot.elements > most ||
          buckets.back().waits_for_end != slot.shared) {
        buckets.push_back({g, offset, 0, s, 0, slot.shared});
        open = true;
      }
      offset -= slot.elements;
      BucketShape& bucket = buckets.back();
      bucket.offset = offset;
      bucket.size += slot.elements;
      bucket.first_slot = s;
      ++bucket.slot_count;
    }
  }
  std::erase_if(buckets, [](const BucketShape& bucket) { return bucket.size == 0; });
  // Groups cut the model across, so that equal fractions of them are roughly equally deep.
  const auto depth = [&](const BucketShape& bucket) {
    return static_cast<double>(bucket.offset) / static_cast<double>(totals[bucket.group]);
  };
  std::stable_sort(buckets.begin(), buckets.end(), [&](const BucketShape& a, const BucketShape& b) {
    if (a.waits_for_end != b.waits_for_end) return b.waits_for_end;
    return depth(a) > depth(b);
  });
  return buckets;
}

}  // namespace loop::plan
