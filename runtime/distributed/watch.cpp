#include "runtime/distributed/watch.h"

#include <chrono>
#include <iostream>
#include <optional>

namespace loop::distributed {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPoll = 100ms;
constexpr auto kAnswers = 1000ms;  // given to the others to answer an alarm
constexpr auto kVerdict = 1600ms;  // given to the rank that raised it

constexpr const char* kAlarm = "loop/alarm";
constexpr const char* kVerdictKey = "loop/verdict";
constexpr const char* kFailed = "loop/failed";

std::string report_key(int64_t rank) {
  return "loop/report/" + std::to_string(rank);
}

std::vector<uint8_t> bytes(const std::string& text) {
  return {text.begin(), text.end()};
}

/// The key's value now, without waiting for one.
std::optional<std::string> look(c10d::Store& store, const std::string& key) {
  if (!store.check({key})) return std::nullopt;
  const std::vector<uint8_t> value = store.get(key);
  return std::string(value.begin(), value.end());
}

std::string enumerated(const std::vector<int64_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

Error lost(const std::string& message) {
  return Error(
      ErrorKind::distributed, message,
      "see what the missing rank printed, and whether its machine is up; a slow start or a long pause "
      "needs LOOP_START_TIMEOUT_S or LOOP_COLLECTIVE_TIMEOUT_S");
}

}  // namespace

Watch::Watch(c10::intrusive_ptr<c10d::Store> store, int64_t rank, int64_t size, const CollectiveLog& log)
    : store_(std::move(store)), rank_(rank), size_(size), log_(log), thread_([this] { answer_alarms(); }) {}

Watch::~Watch() {
  stopping_ = true;
  thread_.join();
}

void Watch::report(c10d::Store& store) const {
  const CollectiveRecord newest = log_.newest();
  store.set(report_key(rank_), bytes(std::to_string(newest.sequence) + "|" + to_text(newest)));
}

void Watch::answer_alarms() {
  int polls = 0;
  while (!stopping_) {
    std::this_thread::sleep_for(kPoll);
    if (++polls % 2 != 0) continue;  // looks five times a second, ends ten times as fast
    try {
      if (!store_->check({kAlarm})) continue;
      report(*store_);
      return;
    } catch (const std::exception&) {
      return;  // the store is gone, and with it whoever could ask
    }
  }
}

void Watch::throw_if_announced(c10d::Store& store) const {
  const auto failed = look(store, kFailed);
  if (!failed) return;
  const size_t first = failed->find('|'), second = failed->find('|', first + 1);
  const int64_t rank = std::stoll(failed->substr(0, first));
  if (rank == rank_) return;
  const auto kind = static_cast<ErrorKind>(std::stoi(failed->substr(first + 1)));
  throw RemoteError(rank, kind, failed->substr(second + 1));
}

std::string Watch::verdict(c10d::Store& store, const CollectiveRecord& failed,
                           const std::string& cause) const {
  report(store);
  std::vector<std::optional<std::string>> reports(static_cast<size_t>(size_));
  const auto deadline = Clock::now() + kAnswers;
  for (;;) {
    throw_if_announced(store);
    bool all = true;
    for (int64_t r = 0; r < size_; ++r) {
      auto& one = reports[static_cast<size_t>(r)];
      if (!one) one = look(store, report_key(r));
      all = all && one;
    }
    if (all || Clock::now() >= deadline) break;
    std::this_thread::sleep_for(50ms);
  }
  std::vector<int64_t> missing, behind;
  std::string where;
  for (int64_t r = 0; r < size_; ++r) {
    const auto& one = reports[static_cast<size_t>(r)];
    if (!one) {
      missing.push_back(r);
    } else if (std::stoll(*one) < failed.sequence) {
      behind.push_back(r);
      where += "; rank " + std::to_string(r) + " is at " + one->substr(one->find('|') + 1);
    }
  }
  const std::string at = " in collective " + to_text(failed);
  if (!missing.empty()) return enumerated(missing) + " did not answer" + at;
  if (!behind.empty()) return enumerated(behind) + " did not arrive" + at + where;
  return "the connection between the ranks failed" + at + ": " + cause;
}

void Watch::explain(c10d::Store& store, const CollectiveRecord& failed, const std::string& cause) const {
  try {
    throw_if_announced(store);
    const std::string me = std::to_string(rank_);
    const auto raised = store.compareSet(kAlarm, {}, bytes(me));
    if (std::string(raised.begin(), raised.end()) != me) {
      const auto deadline = Clock::now() + kVerdict;
      while (Clock::now() < deadline) {
        throw_if_announced(store);
        if (const auto known = look(store, kVerdictKey)) throw lost(*known);
        std::this_thread::sleep_for(50ms);
      }
    }
    const std::string found = verdict(store, failed, cause);
    store.set(kVerdictKey, bytes(found));
    std::cerr << "the last collectives of rank " << rank_ << ":\n" << log_.dump() << std::flush;
    throw lost(found);
  } catch (const Error&) {
    throw;
  } catch (const std::exception&) {
    throw lost(
        "the rendezvous store cannot be reached any more: the process that hosts it (rank 0, or the "
        "launcher) is gone; this was noticed in collective " +
        to_text(failed));
  }
}

void Watch::announce(c10d::Store& store, const Error& error) const {
  const std::string text =
      std::to_string(rank_) + "|" + std::to_string(error.exit_code()) + "|" + error.what();
  store.compareSet(kFailed, {}, bytes(text));
}

}  // namespace loop::distributed
