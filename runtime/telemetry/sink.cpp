#include "runtime/telemetry/sink.h"

namespace loop::telemetry {

void Sinks::start(const RunStart& record) {
  for (auto& sink : sinks_) sink->start(record);
}
void Sinks::update(const UpdateRecord& record) {
  for (auto& sink : sinks_) sink->update(record);
}
void Sinks::evaluation(const EvaluationRecord& record) {
  for (auto& sink : sinks_) sink->evaluation(record);
}
void Sinks::notice(const std::string& sentence) {
  for (auto& sink : sinks_) sink->notice(sentence);
}
void Sinks::end(const RunEnd& record) {
  for (auto& sink : sinks_) sink->end(record);
}

}  // namespace loop::telemetry
