// Where records go: a file, a terminal. A new output format is one class and one line where a run's sinks are
// made.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/telemetry/record.h"

namespace loop::telemetry {

/// All members are called from the thread that trains. A sink takes what it cares for.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void start(const RunStart&) {}
  virtual void update(const UpdateRecord&) {}
  virtual void evaluation(const EvaluationRecord&) {}
  /// A sentence for a person, at the place in time where it belongs.
  virtual void notice(const std::string&) {}
  virtual void end(const RunEnd&) {}
};

/// Passes everything on to several sinks in order.
class Sinks final : public Sink {
 public:
  void add(std::shared_ptr<Sink> sink) { sinks_.push_back(std::move(sink)); }
  void start(const RunStart& record) override;
  void update(const UpdateRecord& record) override;
  void evaluation(const EvaluationRecord& record) override;
  void notice(const std::string& sentence) override;
  void end(const RunEnd& record) override;

 private:
  std::vector<std::shared_ptr<Sink>> sinks_;
};

}  // namespace loop::telemetry
