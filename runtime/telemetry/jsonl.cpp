#include "runtime/telemetry/jsonl.h"

#include <chrono>
#include <cmath>

#include "loop/error.h"

namespace loop::telemetry {

namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}
Json number(const std::optional<double>& value) {
  return value ? number(*value) : Json(nullptr);
}

/// 12.0 as 12: counts are whole numbers except where a unit is real-valued.
Json count(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (std::abs(value) < kExact && value == std::floor(value)) return static_cast<int64_t>(value);
  return number(value);
}

Json object(const Named& values) {
  Json result = Json::object();
  for (const auto& [name, value] : values) result[name] = number(value);
  return result;
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

JsonlSink::JsonlSink(const std::filesystem::path& file) : path_(file), out_(file, std::ios::binary) {
  if (!out_) {
    throw Error(ErrorKind::usage, "cannot write " + file.string(),
                "choose another folder: log { path = … } or --out");
  }
}

void JsonlSink::write(Json object) {
  object["time"] = seconds_since_1970();
  out_ << object.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n' << std::flush;
  if (!out_) {
    throw Error(ErrorKind::training, "writing to " + path_.string() + " failed", "is the disk full?");
  }
}

void JsonlSink::start(const RunStart& record) {
  Json json = {{"event", "start"},
               {"loop", record.loop_name},
               {"directory", record.directory},
               {"model", record.model},
               {"dtype", record.dtype},
               {"amp", record.amp},
               {"device", record.device},
               {"torch", record.torch_version},
               {"threads", record.threads},
               {"ranks", record.ranks},
               {"seed", record.seed},
               {"train_samples", record.train_samples},
               {"parameters", record.parameters},
               {"trainable_parameters", record.trainable_parameters},
               {"micro_batch_samples", record.micro_batch_samples},
               {"window", record.window},
               {"planned_updates", record.planned_updates ? Json(*record.planned_updates) : Json(nullptr)}};
  if (const auto& choice = record.micro_batch_choice) {
    json["micro_batch_auto"] = {{"samples", choice->samples},
                                {"micro_batches", choice->micro_batches},
                                {"budget_bytes", count(choice->budget_bytes)},
                                {"step_bytes", choice->step_bytes},
                                {"larger_step_bytes", choice->larger_step_bytes},
                                {"reason", choice->reason},
                                {"taken_from", choice->taken_from}};
  }
  write(std::move(json));
}

void JsonlSink::update(const UpdateRecord& record) {
  if (!record.line) return;
  Json json = {{"event", "update"},
               {"micro_step", record.micro_step},
               {"optimizer_step", record.optimizer_step},
               {"attempted", record.attempted},
               {"epoch", number(record.epoch)},
               {"micro_batches", record.micro_batches},
               {"samples", record.samples},
               {"local_effective_tokens", count(record.local_effective_tokens)},
               {"global_effective_tokens", count(record.global_effective_tokens)},
               {"physical_tokens", record.physical_tokens},
               {"loss", number(record.loss)}};
  if (!record.losses.empty()) json["losses"] = object(record.losses);
  json["grad_norm"] = number(record.grad_norm);
  json["clipped"] = record.clipped;
  if (record.loss_scale) {
    json["loss_scale"] = number(record.loss_scale);
    json["loss_scale_divisor"] = number(record.loss_scale_divisor);
  }
  json["applied"] = record.applied;
  if (!record.skipped.empty()) json["skipped"] = record.skipped;
  json["lr"] = object(record.learning_rates);
  if (record.tail) json["tail"] = true;
  if (record.lost_samples > 0) json["lost_samples"] = record.lost_samples;
  if (record.collectives > 0) {
    json["collectives"] = record.collectives;
    json["collective_bytes"] = record.collective_bytes;
  }
  json["tokens_per_second"] = number(record.tokens_per_second);
  json["peak_memory_bytes"] = record.peak_memory_bytes;
  json["seconds"] = number(record.seconds);
  write(std::move(json));
}

void JsonlSink::evaluation(const EvaluationRecord& record) {
  Json json = {{"event", "evaluation"},
               {"name", record.name},
               {"source", record.source},
               {"with", record.with},
               {"optimizer_step", record.optimizer_step},
               {"epoch", number(record.epoch)},
               {"metrics", object(record.metrics)},
               {"samples", record.samples},
               {"effective_tokens", count(record.counted)},
               {"micro_batches", record.micro_batches},
               {"seconds", number(record.seconds)}};
  write(std::move(json));
}

void JsonlSink::end(const RunEnd& record) {
  Json json = {
      {"event", "end"},
      {"status", record.status},
      {"reason", record.reason},
      {"optimizer_step", record.optimizer_step},
      {"attempted", record.attempted},
      {"micro_step", record.micro_step},
      {"epoch", number(record.epoch)},
      {"samples_seen", record.samples_seen},
      {"tokens_seen", record.tokens_seen},
      {"lost_samples", record.lost_samples},
      {"discarded_micro_batches", record.discarded_micro_batches},
      {"parameters_file", record.parameters_file.empty() ? Json(nullptr) : Json(record.parameters_file)},
      {"peak_memory_bytes", record.peak_memory_bytes},
      {"seconds", number(record.seconds)}};
  write(std::move(json));
}

}  // namespace loop::telemetry
