#include "runtime/telemetry/progress.h"

#include <algorithm>
#include <chrono>

#include "runtime/telemetry/readable.h"

namespace loop::telemetry {

namespace {

constexpr double kSecondsBetweenDraws = 0.1;
constexpr int kLargestBar = 30;
constexpr int kSmallestBar = 8;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string updates_done(const UpdateRecord& record, const std::optional<int64_t>& planned) {
  const std::string done = std::to_string(record.optimizer_step);
  return planned ? done + "/" + std::to_string(*planned) : done;
}

/// The largest rate: groups often share one schedule, and frozen or slow ones say little.
std::optional<double> learning_rate(const UpdateRecord& record) {
  std::optional<double> largest;
  for (const auto& [name, value] : record.learning_rates)
    largest = largest ? std::max(*largest, value) : value;
  return largest;
}

/// The same fields in order of importance.
std::vector<std::string> fields(const UpdateRecord& record, const std::optional<int64_t>& planned,
                                double seconds_per_update) {
  std::vector<std::string> result = {updates_done(record, planned)};
  if (!record.skipped.empty()) {
    result.push_back("skipped: " + record.skipped);
  } else if (record.loss) {
    result.push_back("loss " + readable(*record.loss));
  }
  if (planned && seconds_per_update > 0) {
    const auto left = std::max<int64_t>(0, *planned - record.optimizer_step);
    result.push_back(readable_duration(seconds_per_update * static_cast<double>(left)) + " left");
  } else {
    result.push_back(readable_duration(record.seconds));
  }
  if (const auto rate = learning_rate(record)) result.push_back("lr " + readable(*rate));
  if (record.grad_norm)
    result.push_back("grad " + readable(*record.grad_norm) + (record.clipped ? " clipped" : ""));
  result.push_back(readable_count(record.tokens_per_second) + " tokens/s");
  return result;
}

std::string bar(double share, int width) {
  const int inner = width - 2;
  const int filled = std::clamp(static_cast<int>(share * inner), 0, inner);
  std::string result(static_cast<size_t>(width), ' ');
  result.front() = '[';
  result.back() = ']';
  std::fill_n(result.begin() + 1, filled, '=');
  if (filled > 0 && filled < inner) result[filled] = '>';
  return result;
}

std::string metrics_text(const EvaluationRecord& record) {
  std::string text = record.name;
  for (const auto& [name, value] : record.metrics) text += "  " + name + " " + readable(value);
  return text;
}

}  // namespace

std::string progress_line(const UpdateRecord& record, const std::optional<int64_t>& planned,
                          double seconds_per_update, int width) {
  std::string line;
  for (const std::string& field : fields(record, planned, seconds_per_update)) {
    const std::string next = line.empty() ? field : line + "  " + field;
    if (static_cast<int>(next.size()) > width) break;
    line = next;
  }
  const int room = std::min(width - static_cast<int>(line.size()) - 2, kLargestBar);
  if (planned && *planned > 0 && room >= kSmallestBar) {
    line =
        bar(static_cast<double>(record.optimizer_step) / static_cast<double>(*planned), room) + "  " + line;
  }
  return line;
}

ProgressSink::ProgressSink(std::ostream& out, std::function<Terminal()> terminal,
                           std::function<double()> seconds)
    : out_(out), terminal_(std::move(terminal)), seconds_(std::move(seconds)) {}

ProgressSink::ProgressSink(std::ostream& out) : ProgressSink(out, standard_output, steady_seconds) {}

void ProgressSink::print(const std::string& line) {
  if (drawn_) out_ << "\r\x1b[K";
  drawn_ = false;
  out_ << line << '\n' << std::flush;
}

void ProgressSink::draw(const UpdateRecord& record, int width) {
  // The last column stays free: some terminals wrap when it is written.
  out_ << '\r' << progress_line(record, planned_updates_, seconds_per_update_.value(), width - 1) << "\x1b[K"
       << std::flush;
  drawn_ = true;
}

void ProgressSink::start(const RunStart& record) {
  planned_updates_ = record.planned_updates;
  std::string line = record.loop_name + ": " + record.model + ", " +
                     readable_count(double(record.trainable_parameters)) + " trainable parameters, " +
                     record.dtype + (record.amp.empty() || record.amp == "off" ? "" : " with amp " + record.amp) +
                     " on " + record.device + ", " +
                     readable_count(double(record.train_samples)) + " samples, window " + record.window;
  if (record.planned_updates) line += ", " + std::to_string(*record.planned_updates) + " updates";
  print(line);
  print("writing to " + record.directory);
}

void ProgressSink::update(const UpdateRecord& record) {
  if (last_ && record.optimizer_step > last_->optimizer_step) {
    seconds_per_update_.add((record.seconds - last_->seconds) /
                            double(record.optimizer_step - last_->optimizer_step));
  }
  if (!last_ || record.optimizer_step > last_->optimizer_step) last_ = record;
  const Terminal terminal = terminal_();
  if (!record.skipped.empty()) {
    print("window " + std::to_string(record.attempted) + " skipped: " + record.skipped);
  } else if (!terminal.interactive) {
    if (record.line) {
      std::string line = "update";
      for (const std::string& field : fields(record, planned_updates_, seconds_per_update_.value())) {
        line += (line == "update" ? " " : "  ") + field;
      }
      print(line);
    }
  }
  if (!terminal.interactive) return;
  const double now = seconds_();
  const bool finished = planned_updates_ && record.optimizer_step >= *planned_updates_;
  if (last_draw_ >= 0 && now - last_draw_ < kSecondsBetweenDraws && !finished) return;
  last_draw_ = now;
  draw(record, terminal.width);
}

void ProgressSink::evaluation(const EvaluationRecord& record) {
  print("update " + std::to_string(record.optimizer_step) + "  " + metrics_text(record) +
        (record.with == "model" ? "" : "  (" + record.with + ")"));
}

void ProgressSink::notice(const std::string& sentence) {
  print(sentence);
}

void ProgressSink::end(const RunEnd& record) {
  std::string line =
      record.status + ": " + record.reason + " (" + std::to_string(record.optimizer_step) + " updates";
  if (record.attempted != record.optimizer_step)
    line += " of " + std::to_string(record.attempted) + " windows";
  line += ", " + readable_duration(record.seconds) + ")";
  print(line);
  if (record.lost_samples > 0) print(std::to_string(record.lost_samples) + " samples were left out (drop)");
  if (record.discarded_micro_batches > 0) {
    print("the unfinished last window of " + std::to_string(record.discarded_micro_batches) +
          " micro-batches was not applied (carry)");
  }
  print("everything is in " + record.directory);
}

}  // namespace loop::telemetry
