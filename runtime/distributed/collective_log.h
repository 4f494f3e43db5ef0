// The last collectives of this rank, for the moment when one of them does not come back.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

namespace loop::distributed {

struct CollectiveRecord {
  int64_t sequence = 0;   // 1-based; equal on all ranks for the same collective
  std::string operation;  // "all-reduce sum"
  int64_t bytes = 0;
  std::string purpose;  // "gradient bucket 2 of 5, char_gpt.loop:31:5"
};

/// "#12 all-reduce sum, 4096 bytes: gradient bucket 2 of 5".
std::string to_text(const CollectiveRecord& record);

/// A ring of the newest records and running totals. Safe to use from several threads.
class CollectiveLog {
 public:
  /// Notes a collective that starts now; gives its sequence number.
  int64_t start(const std::string& operation, int64_t bytes, const std::string& purpose);

  struct Totals {
    int64_t collectives = 0;
    int64_t bytes = 0;
  };
  Totals totals() const;
  /// The newest; sequence 0 before the first.
  CollectiveRecord newest() const;
  /// All that is kept, oldest first, a line each.
  std::string dump() const;

 private:
  static constexpr size_t kKept = 32;
  mutable std::mutex mutex_;
  std::deque<CollectiveRecord> records_;
  Totals totals_;
};

}  // namespace loop::distributed
