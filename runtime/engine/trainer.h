// The run itself: windows until a stop condition holds, with evaluations and reports in between.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/prefetch.h"
#include "runtime/engine/evaluation.h"
#include "runtime/engine/parts.h"
#include "runtime/engine/triggers.h"
#include "runtime/engine/window_runner.h"
#include "runtime/telemetry/sink.h"

namespace loop::engine {

/// How a run ended without an error.
struct Ending {
  bool interrupted = false;
  std::string reason;                   // "1000 updates"
  int64_t discarded_micro_batches = 0;  // of a window that `carry` left unfinished
};

class Trainer {
 public:
  /// `parts` and `sink` must outlive it. Throws loop::Error (findings) for what the plan names but does not
  /// have, and for a use of `horizon` without a bound that can be counted.
  Trainer(Parts& parts, telemetry::Sink& sink);

  /// Runs to the end; `interrupted` is asked after every window and during evaluations. Throws loop::Error
  /// (training) when the run cannot go on, (distributed) when ranks are lost or no longer agree; what it
  /// reported until then has been passed to the sink.
  Ending run(const std::function<bool()>& interrupted);

  const Clocks& clocks() const { return clocks_; }
  std::optional<int64_t> planned_updates() const { return planned_updates_; }
  /// Left out by drop so far.
  int64_t lost_samples() const { return lost_samples_; }
  WindowRunner& windows() { return *windows_; }
  Averages& averages() { return averages_; }

 private:
  struct Scheduled {
    Evaluator evaluator;
    Every every;
    std::optional<int64_t> last_update;  // updates applied when it ran last
  };

  void form_next();
  data::WindowFormer::Bounded take_window();
  void run_window(const data::WindowPlan& window);
  void report(telemetry::UpdateRecord record, const data::WindowPlan& window, double seconds);
  void write_pending_line();
  bool evaluate(Scheduled& scheduled, const std::function<bool()>& interrupted);
  void check_metrics() const;
  void count_seconds();
  void average_buffers();
  void check_replicas() const;

  Parts& parts_;
  telemetry::Sink& sink_;
  Averages averages_;
  Steps steps_;
  Clocks clocks_;
  data::WindowFormer former_;
  data::Prefetcher batches_;
  std::optional<data::WindowFormer::Bounded> next_;  // formed, its batches asked for
  int64_t lost_samples_ = 0;
  std::optional<int64_t> planned_updates_;
  std::unique_ptr<WindowRunner> windows_;
  std::vector<Scheduled> evaluations_;
  StopConditions stop_;
  NonfinitePolicy nonfinite_;
  Every log_every_;
  Every replicas_every_;
  bool interrupted_ = false;  // a rank was asked to stop, as all ranks know

  double begun_seconds_ = 0;
  bool first_line_written_ = false;
  std::optional<telemetry::UpdateRecord> pending_line_;  // the newest record that was not written
  double tokens_since_line_ = 0;
  double seconds_since_line_ = 0;
};

}  // namespace loop::engine
