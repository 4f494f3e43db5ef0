// The prediction for many ranks, for a person and for programs.
#include <algorithm>

#include "compiler/plan/dump_parts.h"
#include "compiler/plan/prediction.h"

namespace loop::planner {
namespace {

std::string bytes(int64_t value) {
  return bytes_text(static_cast<double>(value));
}

std::string times(int64_t once, int64_t per_micro_batch) {
  std::string text = once == 0   ? ""
                     : once == 1 ? "once per window"
                                 : std::to_string(once) + " times per window";
  if (per_micro_batch > 0) {
    text += (text.empty() ? "" : " and ") + std::string("with every micro-batch");
    if (per_micro_batch > 1) text += " (" + std::to_string(per_micro_batch) + " times)";
  }
  return text.empty() ? "never" : text;
}

void line(std::ostream& out, const std::string& key, const std::string& value) {
  out << "  " << key << std::string(key.size() < 14 ? 14 - key.size() : 1, ' ') << value << "\n";
}

std::string limit_text(const Prediction& p) {
  if (p.bucket_limit == plan::kBucketBytes) return "";
  return std::string("; at most ") + bytes(p.bucket_limit) + " by " + plan::kBucketBytesVariable;
}

void dump_exchange(std::ostream& out, const Prediction& p) {
  if (p.ranks == 1) return line(out, "collectives", "none: one rank");
  const std::string most = p.at_most ? "at most " : "";
  if (p.unknown.empty()) {
    const auto [least, largest] = std::minmax_element(p.bucket_bytes.begin(), p.bucket_bytes.end());
    std::string sizes = "none";
    if (p.bucket_bytes.size() == 1) sizes = bytes(*least);
    if (p.bucket_bytes.size() > 1) sizes = bytes(*least) + " to " + bytes(*largest);
    line(out, "buckets",
         std::to_string(p.bucket_bytes.size()) + " (" + sizes + limit_text(p) + "), reduced " +
             times(p.reductions_once, p.reductions_per_micro_batch));
    line(out, "small vector", bytes(*p.small_vector_bytes) + ": counts, touched bits, losses, flags");
  } else {
    line(out, "buckets", "not known, reduced " + times(p.reductions_once, p.reductions_per_micro_batch));
  }
  if (p.counts_ahead_bytes > 0)
    line(out, "counts ahead", bytes(p.counts_ahead_bytes) + ": counts before the first forward");
  if (p.agrees_on_finite) line(out, "finite", bytes(8) + ": whether every rank's gradient is finite");
  if (const auto collectives = p.collectives()) {
    line(out, "collectives", most + std::to_string(*collectives) + " per window");
    line(out, "reduced", most + bytes(*p.reduced_bytes()) + " per window");
  } else if (!p.unknown.empty()) {
    line(out, "collectives", "not known: " + p.unknown);
  } else {
    line(out, "collectives", "not known: K depends on the data");
  }
}

void dump_memory(std::ostream& out, const Prediction& p) {
  if (!p.unknown.empty()) return line(out, "memory", "not known: " + p.unknown);
  std::string text = bytes(*p.parameter_bytes) + " parameters, " + bytes(*p.gradient_bytes) + " gradients, " +
                     (p.state_bytes ? bytes(*p.state_bytes) : "an unknown size (a rule of the user's)") +
                     " optimizer state";
  if (*p.kept_bytes > 0) text += ", " + bytes(*p.kept_bytes) + " of earlier micro-batches";
  if (*p.average_bytes > 0) text += ", " + bytes(*p.average_bytes) + " averages";
  if (p.copy_bytes > 0) text += ", " + bytes(p.copy_bytes) + " gradients rounded to bf16";
  line(out, "memory", text);
  line(out, "",
       p.copy_bytes > 0 ? "activations are not counted"
                        : "buckets are slices of the gradients; activations are not counted");
}

template <typename T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

void dump_prediction(std::ostream& out, const Prediction& prediction) {
  out << "\non " << count_text(static_cast<double>(prediction.ranks), "rank") << ", each, per full window\n";
  line(out, "micro-batches",
       prediction.micro_batches ? "K = " + std::to_string(*prediction.micro_batches)
                                : "K depends on the data");
  dump_exchange(out, prediction);
  dump_memory(out, prediction);
}

nlohmann::ordered_json to_json(const Prediction& p) {
  nlohmann::ordered_json json = {{"ranks", p.ranks},
                                 {"micro_batches", or_null(p.micro_batches)},
                                 {"collectives", or_null(p.collectives())},
                                 {"collective_bytes", or_null(p.reduced_bytes())},
                                 {"at_most", p.at_most},
                                 {"bucket_bytes", nullptr},
                                 {"reductions_once", p.reductions_once},
                                 {"reductions_per_micro_batch", p.reductions_per_micro_batch},
                                 {"small_vector_bytes", or_null(p.small_vector_bytes)},
                                 {"counts_ahead_bytes", p.counts_ahead_bytes},
                                 {"memory",
                                  {{"parameters", or_null(p.parameter_bytes)},
                                   {"gradients", or_null(p.gradient_bytes)},
                                   {"earlier_micro_batches", or_null(p.kept_bytes)},
                                   {"optimizer_states", or_null(p.state_bytes)},
                                   {"averages", or_null(p.average_bytes)},
                                   {"buckets", p.copy_bytes}}}};
  if (p.unknown.empty())
    json["bucket_bytes"] = p.bucket_bytes;
  else
    json["unknown"] = p.unknown;
  return json;
}

}  // namespace loop::planner
