#include "runtime/verify/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace loop::verify {

namespace {

const char* name(Check::Verdict verdict) {
  switch (verdict) {
    case Check::Verdict::same:
      return "ok";
    case Check::Verdict::differs:
      return "DIFFERS";
    case Check::Verdict::not_measured:
      return "not measured";
  }
  return "?";
}

/// Rounding is different on every machine: its size is what matters.
std::string error_text(double error) {
  if (error < 1e-12) return "below 1e-12";
  char text[32];
  std::snprintf(text, sizeof text, "%.2e", error);
  return text;
}

std::string plural(int64_t count, const std::string& what) {
  const char* ending = what.ends_with("h") ? "es" : "s";
  return std::to_string(count) + " " + what + (count == 1 ? "" : ending);
}

void write_trial(std::ostream& out, const Trial& trial) {
  out << "\nwindow " << trial.window << (trial.tail ? " (tail)" : "") << ", " << plural(trial.ranks, "rank")
      << ": " << plural(trial.samples, "sample") << " in " << plural(trial.micro_batches, "micro-batch");
  for (const auto& [unit, count] : trial.counts) out << ", N = " << count << " " << unit;
  out << '\n';
  size_t width = 5;
  for (const GroupError& group : trial.comparison.groups) width = std::max(width, group.name.size());
  for (const GroupError& group : trial.comparison.groups) {
    out << "  group " << group.name << std::string(width - group.name.size(), ' ') << "  relative error "
        << error_text(group.relative_error) << "  (" << plural(group.parameters, "parameter") << ")\n";
  }
  if (trial.comparison.equal()) {
    out << "  equal to one big batch" << (trial.clipped ? ", before and after the clip" : "") << '\n';
    return;
  }
  out << "  first parameter that differs: " << trial.comparison.first_parameter << ", relative error "
      << error_text(trial.comparison.first_parameter_error);
  if (trial.ranks > 1) out << " (rank " << trial.worst_rank << ")";
  out << '\n';
  if (trial.diagnosis) {
    out << "  looked for, in this order:\n";
    for (const Check& check : trial.diagnosis->checks) {
      out << "    " << name(check.verdict) << ": " << check.title << '\n'
          << "      " << check.evidence << '\n';
    }
  }
  out << "  probable cause: " << trial.cause << '\n';
}

nlohmann::ordered_json to_json(const Trial& trial) {
  nlohmann::ordered_json json = {{"ranks", trial.ranks},
                                 {"window", trial.window},
                                 {"tail", trial.tail},
                                 {"micro_batches", trial.micro_batches},
                                 {"samples", trial.samples},
                                 {"equal", trial.comparison.equal()},
                                 {"relative_error", trial.comparison.worst}};
  for (const auto& [unit, count] : trial.counts) json["counts"].push_back({{"unit", unit}, {"count", count}});
  for (const GroupError& group : trial.comparison.groups) {
    json["groups"].push_back({{"name", group.name},
                              {"parameters", group.parameters},
                              {"reference_norm", group.reference_norm},
                              {"relative_error", group.relative_error}});
  }
  if (trial.comparison.equal()) return json;
  json["first_parameter"] = {{"name", trial.comparison.first_parameter},
                             {"relative_error", trial.comparison.first_parameter_error},
                             {"rank", trial.worst_rank}};
  json["cause"] = trial.cause;
  if (!trial.diagnosis) return json;
  for (const Check& check : trial.diagnosis->checks) {
    json["checks"].push_back(
        {{"name", check.name}, {"verdict", name(check.verdict)}, {"evidence", check.evidence}});
  }
  if (!trial.diagnosis->factors) return json;
  for (const FoundFactor& one : trial.diagnosis->factors->list) {
    json["factors"].push_back({{"micro_batch", one.micro_batch + 1},
                               {"rank", one.rank},
                               {"term", one.term},
                               {"counted", one.counted},
                               {"found", one.found},
                               {"right", one.right}});
  }
  return json;
}

}  // namespace

bool Report::equal() const {
  return std::all_of(trials.begin(), trials.end(), [](const Trial& one) { return one.comparison.equal(); });
}

void write_text(std::ostream& out, const Report& report) {
  out << report.loop << ": the gradient that `step` gets against one big batch, in FP64 (tolerance "
      << report.tolerance << ")\n";
  for (const std::string& note : report.notes) out << "  note: " << note << '\n';
  for (const Trial& trial : report.trials) write_trial(out, trial);
  out << '\n' << (report.equal() ? "equal" : "NOT equal") << '\n';
}

nlohmann::ordered_json to_json(const Report& report) {
  nlohmann::ordered_json json = {{"format", "loop-verify"},
                                 {"version", 1},
                                 {"loop", report.loop},
                                 {"equal", report.equal()},
                                 {"tolerance", report.tolerance},
                                 {"notes", report.notes},
                                 {"trials", nlohmann::ordered_json::array()}};
  for (const Trial& trial : report.trials) json["trials"].push_back(to_json(trial));
  return json;
}

}  // namespace loop::verify
