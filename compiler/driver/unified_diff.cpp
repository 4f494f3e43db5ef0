#include "compiler/driver/unified_diff.h"

#include <algorithm>
#include <vector>

namespace loop::driver {
namespace {

constexpr size_t kContext = 3;
constexpr int kMaxEdits =
    2000;  // beyond it the differing middle is shown as replaced: time and memory grow with its square

using Lines = std::vector<std::string_view>;

/// Lines with their newline; the last may lack one.
Lines split(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const size_t newline = text.find('\n');
    const size_t length = newline == std::string_view::npos ? text.size() : newline + 1;
    lines.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return lines;
}

struct Step {
  char kind;  // ' ' in both, '-' only in the old, '+' only in the new
  std::string_view line;
};

/// A shortest edit script by Myers' greedy algorithm (E. W. Myers, "An O(ND) difference algorithm and its
/// variations", 1986), empty when it needs more than kMaxEdits edits. Round d extends, on every diagonal k =
/// x - y, the furthest path with d edits.
class ShortestScript {
 public:
  ShortestScript(const Lines& a, const Lines& b)
      : a_(a), b_(b), most_(std::min(static_cast<int>(a.size() + b.size()), kMaxEdits)) {}

  std::vector<Step> find() {
    std::vector<int> furthest(2 * static_cast<size_t>(most_) + 3, 0);  // x by diagonal, -most - 1 … most + 1
    const auto at = [&](int diagonal) -> int& { return furthest[static_cast<size_t>(diagonal + most_ + 1)]; };
    const int n = static_cast<int>(a_.size());
    const int m = static_cast<int>(b_.size());
    for (int d = 0; d <= most_; ++d) {
      before_round_.emplace_back(&at(-d), &at(d) + 1);
      for (int k = -d; k <= d; k += 2) {
        const bool inserts = k == -d || (k != d && at(k - 1) < at(k + 1));
        int x = inserts ? at(k + 1) : at(k - 1) + 1;
        while (x < n && x - k < m && a_[static_cast<size_t>(x)] == b_[static_cast<size_t>(x - k)]) ++x;
        at(k) = x;
        if (x >= n && x - k >= m) return walk_back(d);
      }
    }
    return {};
  }

 private:
  std::vector<Step> walk_back(int rounds) const {
    std::vector<Step> script;
    auto x = static_cast<int>(a_.size());
    auto y = static_cast<int>(b_.size());
    const auto keep_down_to = [&](int start) {
      for (; x > start; --x, --y) script.push_back({' ', a_[static_cast<size_t>(x - 1)]});
    };
    for (int d = rounds; d > 0; --d) {
      const auto before = [&](int diagonal) {
        return before_round_[static_cast<size_t>(d)][static_cast<size_t>(diagonal + d)];
      };
      const int k = x - y;
      const bool inserts = k == -d || (k != d && before(k - 1) < before(k + 1));
      if (inserts) {
        keep_down_to(before(k + 1));
        script.push_back({'+', b_[static_cast<size_t>(--y)]});
      } else {
        keep_down_to(before(k - 1) + 1);
        script.push_back({'-', a_[static_cast<size_t>(--x)]});
      }
    }
    keep_down_to(0);
    std::reverse(script.begin(), script.end());
    return script;
  }

  const Lines& a_;
  const Lines& b_;
  int most_;
  std::vector<std::vector<int>> before_round_;  // diagonals -d … d
};

std::vector<Step> edit_script(const Lines& a, const Lines& b) {
  const auto [a_front, b_front] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const auto prefix = static_cast<size_t>(a_front - a.begin());
  size_t suffix = 0;
  while (suffix < a.size() - prefix && suffix < b.size() - prefix &&
         a[a.size() - 1 - suffix] == b[b.size() - 1 - suffix]) {
    ++suffix;
  }
  const Lines a_middle(a_front, a.end() - static_cast<std::ptrdiff_t>(suffix));
  const Lines b_middle(b_front, b.end() - static_cast<std::ptrdiff_t>(suffix));
  std::vector<Step> middle = ShortestScript(a_middle, b_middle).find();
  if (middle.empty()) {
    for (const std::string_view line : a_middle) middle.push_back({'-', line});
    for (const std::string_view line : b_middle) middle.push_back({'+', line});
  }
  std::vector<Step> script;
  for (size_t i = 0; i < prefix; ++i) script.push_back({' ', a[i]});
  script.insert(script.end(), middle.begin(), middle.end());
  for (size_t i = a.size() - suffix; i < a.size(); ++i) script.push_back({' ', a[i]});
  return script;
}

std::string range(size_t before, size_t count) {
  // A range of no lines names the line before it.
  const std::string start = std::to_string(count == 0 ? before : before + 1);
  return count == 1 ? start : start + "," + std::to_string(count);
}

}  // namespace

std::string unified_diff(std::string_view old_text, std::string_view new_text, const std::string& from,
                         const std::string& to) {
  if (old_text == new_text) return {};
  const std::vector<Step> script = edit_script(split(old_text), split(new_text));
  std::string out = "--- " + from + "\n+++ " + to + "\n";
  size_t old_line = 0;  // lines of each text before script[position]
  size_t new_line = 0;
  const auto advance = [&](size_t from_step, size_t to_step) {
    for (size_t i = from_step; i < to_step; ++i) {
      old_line += script[i].kind != '+' ? 1 : 0;
      new_line += script[i].kind != '-' ? 1 : 0;
    }
  };
  const auto next_change = [&](size_t position) {
    while (position < script.size() && script[position].kind == ' ') ++position;
    return position;
  };
  size_t position = 0;
  for (size_t change = next_change(0); change < script.size(); change = next_change(position)) {
    const size_t begin = std::max(position, change > kContext ? change - kContext : 0);
    size_t end = change;  // after the last change of this hunk
    for (size_t next = change; next < script.size() && next <= end + 2 * kContext; next = next_change(end))
      end = next + 1;
    end = std::min(end + kContext, script.size());
    advance(position, begin);
    const size_t old_begin = old_line;
    const size_t new_begin = new_line;
    advance(begin, end);
    out += "@@ -" + range(old_begin, old_line - old_begin) + " +" + range(new_begin, new_line - new_begin) +
           " @@\n";
    for (size_t i = begin; i < end; ++i) {
      out += script[i].kind;
      out += script[i].line;
      if (script[i].line.back() != '\n') out += "\n\\ No newline at end of file\n";
    }
    position = end;
  }
  return out;
}

}  // namespace loop::driver
