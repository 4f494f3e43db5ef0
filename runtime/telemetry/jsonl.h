// metrics.jsonl: one JSON object per line, flushed per line, so that a run that dies leaves whole lines
// behind.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/telemetry/sink.h"

namespace loop::telemetry {

/// Objects carry `event`: start, update, evaluation or end, and `time`: seconds since 1970. A value that is
/// not finite or not known is null. Update records without `line` are left out.
class JsonlSink final : public Sink {
 public:
  /// Throws loop::Error (usage) when the file cannot be created.
  explicit JsonlSink(const std::filesystem::path& file);
  void start(const RunStart& record) override;
  void update(const UpdateRecord& record) override;
  void evaluation(const EvaluationRecord& record) override;
  void end(const RunEnd& record) override;

 private:
  void write(nlohmann::ordered_json object);

  std::filesystem::path path_;
  std::ofstream out_;
};

}  // namespace loop::telemetry
