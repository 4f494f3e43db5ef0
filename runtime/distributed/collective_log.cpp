#include "runtime/distributed/collective_log.h"

namespace loop::distributed {

std::string to_text(const CollectiveRecord& record) {
  return "#" + std::to_string(record.sequence) + " " + record.operation + ", " +
         std::to_string(record.bytes) + " bytes: " + record.purpose;
}

int64_t CollectiveLog::start(const std::string& operation, int64_t bytes, const std::string& purpose) {
  const std::lock_guard lock(mutex_);
  ++totals_.collectives;
  totals_.bytes += bytes;
  records_.push_back({totals_.collectives, operation, bytes, purpose});
  if (records_.size() > kKept) records_.pop_front();
  return totals_.collectives;
}

CollectiveLog::Totals CollectiveLog::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

CollectiveRecord CollectiveLog::newest() const {
  const std::lock_guard lock(mutex_);
  return records_.empty() ? CollectiveRecord{0, "none", 0, "no collective yet"} : records_.back();
}

std::string CollectiveLog::dump() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const CollectiveRecord& record : records_) text += "  " + to_text(record) + "\n";
  return text;
}

}  // namespace loop::distributed
