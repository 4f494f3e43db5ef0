// What a run reports, as plain values: one struct for each `event` of metrics.jsonl.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loop::telemetry {

using Named = std::vector<std::pair<std::string, double>>;

/// What `micro_batch = auto` chose, and why. Bytes are of one rank.
struct MicroBatchChoice {
  int64_t samples = 0;        // in a micro-batch
  int64_t micro_batches = 0;  // in the largest window
  double budget_bytes = 0;
  int64_t step_bytes = 0;         // what a training step takes with it
  int64_t larger_step_bytes = 0;  // with one sample more; 0: it takes a whole window at once
  std::string reason;             // a sentence for a person
  std::string taken_from;         // the file that held it; empty: measured by this run
  std::string key;  // what it was made for (rank 0): another run takes it with the same key only
};

/// The run as it begins.
struct RunStart {
  std::string loop_name;
  std::string directory;  // the run directory
  std::string model;
  std::string dtype;
  std::string amp;  // "off", "bf16", "fp16"
  std::string device;
  std::string torch_version;
  int threads = 1;
  uint64_t seed = 0;
  int64_t train_samples = 0;
  int64_t parameters = 0;  // elements, frozen ones included
  int64_t trainable_parameters = 0;
  int64_t micro_batch_samples = 0;  // per rank
  int64_t ranks = 1;
  std::string window;                                  // "4 micro_batches"
  std::optional<MicroBatchChoice> micro_batch_choice;  // empty: the spec says how large
  std::optional<int64_t> planned_updates;  // the horizon; empty: the run has no bound that can be counted
};

/// One window, applied or not. Counts are the window's own; clocks are those after it.
struct UpdateRecord {
  int64_t micro_step = 0;      // micro-batches run so far by this rank
  int64_t optimizer_step = 0;  // applied updates
  int64_t attempted = 0;       // windows finished
  double epoch = 0;
  int64_t micro_batches = 0;           // of this window, this rank
  int64_t samples = 0;                 // of this window, all ranks
  double local_effective_tokens = 0;   // counted units of the first loss term, this rank
  double global_effective_tokens = 0;  // the same over all ranks
  int64_t physical_tokens = 0;         // positions read by this rank, padding included
  std::optional<double> loss;          // Σ_t w_t · Σℓ_t / N_t; empty when nothing counted
  Named losses;                     // each term's Σℓ_t / N_t, without its weight; filled for several terms
  std::optional<double> grad_norm;  // after normalisation, before clipping
  bool clipped = false;
  std::optional<double> loss_scale;  // fp16: the scaler's value in this window, and what it is divided by (D)
  double loss_scale_divisor = 1;
  bool applied = false;
  std::string skipped;            // why the window changed nothing; empty when it was applied
  Named learning_rates;           // one entry per step, named by its groups
  bool tail = false;              // the epoch ended before the window reached its size
  int64_t lost_samples = 0;       // left out between the window before and the end of this one
  int64_t collectives = 0;        // over ranks, in this window; 0 with one rank
  int64_t collective_bytes = 0;   // of these, per rank
  double tokens_per_second = 0;   // counted ones, since the last line
  int64_t peak_memory_bytes = 0;  // of the process
  double seconds = 0;             // of training
  bool line = true;               // `log.every` wants a line; a progress bar shows every record
};

struct EvaluationRecord {
  std::string name;  // "held_out"
  std::string source;
  std::string with;  // "model" or an average's name
  int64_t optimizer_step = 0;
  double epoch = 0;
  Named metrics;  // "loss", "accuracy" …
  int64_t samples = 0;
  double counted = 0;  // counted units of the first loss term
  int64_t micro_batches = 0;
  double seconds = 0;
};

struct RunEnd {
  std::string status;  // "done", "interrupted", "failed"
  std::string reason;  // "1000 updates", "interrupted", the error's message
  int64_t optimizer_step = 0;
  int64_t attempted = 0;
  int64_t micro_step = 0;
  double epoch = 0;
  int64_t samples_seen = 0;
  int64_t tokens_seen = 0;
  int64_t lost_samples = 0;
  int64_t discarded_micro_batches = 0;  // of a window that `tail = carry` left unfinished
  std::string directory;
  std::string parameters_file;  // empty when none was written
  int64_t peak_memory_bytes = 0;
  double seconds = 0;
};

}  // namespace loop::telemetry
