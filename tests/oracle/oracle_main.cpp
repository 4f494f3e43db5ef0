// Judges many programs by execution and by the checker and reports where they disagree.
//
//   loop_oracle [--edits N] [--settings N] [--walks N] [--seed N] [--threads N] [--show N] [--only TEXT]
//
// --edits     how far from the canonical loops, in the settings of the promise (2)
// --settings  of all settings every n-th is tried: canonical loops and transcriptions with one edit each
// (101; 1 = all)
// --walks     random walks through longer programs, each in a setting of its own (150)
// --seed      where the walks start (1)
// --show      disagreements shown of each cause (2)
// --only      settings whose text contains TEXT
// Exit 0 when there is no disagreement, 1 when there is, 2 for a bad command line.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <random>
#include <thread>
#include <unordered_set>

#include "tests/oracle/settings.h"
#include "tests/oracle/verdicts.h"

namespace loop::oracle {
namespace {

struct Options {
  int edits = 2;
  int settings = 101;
  int walks = 150;
  int seed = 1;
  int threads = 2;
  size_t show = 2;
  std::string only;
};

using Job = std::function<Tally()>;

/// Every program within `edits` edits of `start`, each once.
void explore(Court& court, const Setting& setting, const Tokens& start, int edits,
             std::unordered_set<uint64_t>& judged) {
  std::unordered_set<uint64_t> seen = {fingerprint(start)};
  std::vector<Tokens> frontier = {start};
  if (judged.insert(fingerprint(start)).second && can_be_written(setting, start)) court.judge(start);
  for (int depth = 1; depth <= edits; ++depth) {
    std::vector<Tokens> next;
    for (const Tokens& from : frontier)
      each_edit(setting, from, false, [&](Tokens&& made) {
        uint64_t print = fingerprint(made);
        if (!seen.insert(print).second) return;
        if (judged.insert(print).second && can_be_written(setting, made)) court.judge(made);
        if (depth < edits) next.push_back(std::move(made));
      });
    frontier = std::move(next);
  }
}

/// A walk of random edits that stays near right programs: those are where a checker can raise a false alarm,
/// and one edit away from them is where it can miss a fault.
void walk(Court& court, const Setting& setting, uint64_t seed) {
  constexpr size_t longest = 26;
  constexpr int moves = 14, tries = 40;
  std::mt19937_64 random(seed);
  std::vector<Tokens> starts = transcriptions(setting);
  starts.push_back(canonical(setting));
  Tokens here = starts[random() % starts.size()];
  for (int move = 0; move < moves; ++move) {
    std::vector<Tokens> near;
    each_edit(setting, here, true, [&](Tokens&& made) {
      if (can_be_written(setting, made)) near.push_back(std::move(made));
    });
    if (near.empty()) return;
    std::vector<const Tokens*> right;
    for (int i = 0; i < tries; ++i) {
      const Tokens& tried = near[random() % near.size()];
      if (court.judge(tried) && tried.all.size() <= longest) right.push_back(&tried);
    }
    // Mostly on to a right program; now and then to any, for faults that need two edits to show.
    if (!right.empty() && random() % 8 != 0)
      here = Tokens(*right[random() % right.size()]);
    else if (random() % 2 == 0)
      here = Tokens(near[random() % near.size()]);
  }
}

Tally run(const std::vector<Job>& jobs, const Options& options) {
  Tally total;
  std::mutex lock;
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i = next++; i < jobs.size(); i = next++) {
      Tally tally = jobs[i]();
      std::lock_guard guard(lock);
      total.add(tally, options.show);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < options.threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return total;
}

void report(const char* title, const Tally& tally, double seconds) {
  std::printf(
      "%s: %zu programs (%zu right, %zu outside of the promise), %zu misses, %zu false alarms, %.1f s\n",
      title, tally.programs, tally.right, tally.outside, tally.misses, tally.false_alarms, seconds);
  for (const auto& [name, cause] : tally.causes) {
    std::printf("\n== %s (%zu)\n", name.c_str(), cause.count);
    for (const Disagreement& one : cause.shown) {
      std::printf("-- %s\n%s\n   execution: %s\n", one.setting.c_str(), one.program.c_str(),
                  one.execution.c_str());
      for (const std::string& line : one.diagnostics) std::printf("   checker: %s\n", line.c_str());
      if (one.diagnostics.empty()) std::printf("   checker: nothing\n");
    }
  }
  std::fflush(stdout);
}

bool read(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 >= argc) return false;
    std::string key = argv[i], value = argv[i + 1];
    if (key == "--only") {
      options.only = value;
      continue;
    }
    char* end = nullptr;
    long number = std::strtol(value.c_str(), &end, 10);
    if (value.empty() || *end || number < 0 || number > 1000000000) return false;
    if (key == "--edits")
      options.edits = static_cast<int>(number);
    else if (key == "--settings")
      options.settings = static_cast<int>(number);
    else if (key == "--walks")
      options.walks = static_cast<int>(number);
    else if (key == "--seed")
      options.seed = static_cast<int>(number);
    else if (key == "--threads")
      options.threads = static_cast<int>(number);
    else if (key == "--show")
      options.show = static_cast<size_t>(number);
    else
      return false;
  }
  return options.threads > 0;
}

int main_program(const Options& options) {
  auto chosen = [&](const std::vector<Setting>& all) {
    std::vector<Setting> some;
    for (const Setting& setting : all)
      if (to_text(setting).find(options.only) != std::string::npos) some.push_back(setting);
    return some;
  };
  Tally total;
  auto part = [&](const char* title, const std::vector<Job>& jobs) {
    auto begin = std::chrono::steady_clock::now();
    Tally tally = run(jobs, options);
    report(title, tally, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    total.add(tally, 0);
  };

  std::vector<Job> jobs;
  for (const Setting& setting : chosen(promised_settings()))
    jobs.emplace_back([setting, &options] {
      Court court(setting, options.show);
      std::unordered_set<uint64_t> judged;
      explore(court, setting, canonical(setting), options.edits, judged);
      return court.tally();
    });
  part(("within " + std::to_string(options.edits) + " edits of the canonical loops").c_str(), jobs);

  jobs.clear();
  std::vector<Setting> all = chosen(all_settings());
  if (options.settings > 0)
    for (size_t i = 0; i < all.size(); i += static_cast<size_t>(options.settings)) {
      const Setting& setting = all[i];
      jobs.emplace_back([setting, &options] {
        Court court(setting, options.show);
        std::unordered_set<uint64_t> judged;
        explore(court, setting, canonical(setting), 1, judged);
        for (const Tokens& start : transcriptions(setting)) explore(court, setting, start, 1, judged);
        return court.tally();
      });
    }
  part("within one edit of loops that people write, in other settings", jobs);

  jobs.clear();
  for (int i = 0; i < options.walks && !all.empty(); ++i) {
    uint64_t seed = static_cast<uint64_t>(options.seed) * 1000003 + static_cast<uint64_t>(i);
    const Setting& setting = all[std::mt19937_64(seed)() % all.size()];
    jobs.emplace_back([setting, seed, &options] {
      Court court(setting, options.show);
      walk(court, setting, seed);
      return court.tally();
    });
  }
  part("random longer programs", jobs);

  std::printf("\nin all: %zu programs, %zu misses, %zu false alarms\n", total.programs, total.misses,
              total.false_alarms);
  return total.misses + total.false_alarms == 0 ? 0 : 1;
}

}  // namespace
}  // namespace loop::oracle

int main(int argc, char** argv) {
  loop::oracle::Options options;
  if (!loop::oracle::read(argc, argv, options)) {
    std::fprintf(
        stderr,
        "usage: loop_oracle [--edits N] [--settings N] [--walks N] [--seed N] [--threads N] [--show N] "
        "[--only TEXT]\n");
    return 2;
  }
  return loop::oracle::main_program(options);
}
