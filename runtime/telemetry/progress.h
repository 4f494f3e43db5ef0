// What a person sees while a run goes on: one line that is redrawn on a terminal, plain lines elsewhere.
#pragma once

#include <functional>
#include <ostream>

#include "runtime/telemetry/debiased_mean.h"
#include "runtime/telemetry/sink.h"
#include "runtime/telemetry/terminal.h"

namespace loop::telemetry {

/// One line of at most `width` columns: updates done of planned, loss, time left, lr, gradient norm, tokens
/// per second, and a bar in what room remains. What does not fit is left out from the end of that list.
std::string progress_line(const UpdateRecord& record, const std::optional<int64_t>& planned_updates,
                          double seconds_per_update, int width);

class ProgressSink final : public Sink {
 public:
  /// `terminal` is asked before every redraw, `seconds` is a clock that never goes back; both can be replaced
  /// in tests.
  ProgressSink(std::ostream& out, std::function<Terminal()> terminal, std::function<double()> seconds);
  explicit ProgressSink(std::ostream& out);

  void start(const RunStart& record) override;
  void update(const UpdateRecord& record) override;
  void evaluation(const EvaluationRecord& record) override;
  void notice(const std::string& sentence) override;
  void end(const RunEnd& record) override;

 private:
  void print(const std::string& line);  // above the redrawn line
  void draw(const UpdateRecord& record, int width);

  std::ostream& out_;
  std::function<Terminal()> terminal_;
  std::function<double()> seconds_;
  std::optional<int64_t> planned_updates_;
  DebiasedMean seconds_per_update_{0.98};
  std::optional<UpdateRecord> last_;
  double last_draw_ = -1;
  bool drawn_ = false;
};

}  // namespace loop::telemetry
