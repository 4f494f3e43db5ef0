// Everything the language has and the runtime has not is said, at its place, and nothing else is.
#include "compiler/driver/availability.h"

#include <doctest/doctest.h>

#include <functional>

using namespace loop;

namespace {

/// A loop that the runtime can run.
sema::Spec runnable() {
  sema::Spec spec;
  spec.model.component.name = "gpt";
  spec.model.facts.known = true;
  sema::SourceUse source;
  source.source.name = "train";
  source.source.component.name = "text";
  spec.data.sources.push_back(source);
  spec.count_classes.push_back({});
  sema::LossTerm term;
  term.term.component.name = "cross_entropy";
  spec.terms.push_back(term);
  sema::Operation step;
  step.op.kind = plan::OpKind::step;
  step.op.rule.optimizer = "std.optimizers.adamw";
  spec.update.operations.push_back(step);
  spec.resume.value = "never";
  return spec;
}

std::vector<std::string> findings(const sema::Spec& spec, std::optional<int64_t> ranks = std::nullopt) {
  diagnostics::Engine engine;
  driver::report_unavailable(spec, ranks, engine);
  std::vector<std::string> messages;
  for (const diagnostics::Diagnostic& finding : engine.diagnostics()) {
    CHECK(finding.severity == diagnostics::Severity::error);
    messages.push_back(finding.message);
  }
  return messages;
}

/// The one finding of a runnable loop with one change.
std::string finding(const std::function<void(sema::Spec&)>& change) {
  sema::Spec spec = runnable();
  change(spec);
  const std::vector<std::string> messages = findings(spec);
  REQUIRE(messages.size() == 1);
  return messages.front();
}

bool says(const std::string& message, const char* words) {
  CAPTURE(message);
  return message.find(words) != std::string::npos &&
         message.find("is not available in this build; ") != std::string::npos;
}

}  // namespace

TEST_CASE("availability: what the runtime has gives no finding") {
  CHECK(findings(runnable()).empty());
  CHECK(findings(runnable(), 1).empty());
  sema::Spec spec = runnable();
  spec.device.value = plan::Device::cpu;
  spec.ranks.value = 1;
  spec.dtype.value = plan::Dtype::fp64;
  spec.batch_norm.value = plan::BatchNorm::per_micro;
  spec.window.sync.value = plan::Sync::manual;
  spec.window.reduce.value = plan::ReduceMode::mean;
  spec.averages.push_back({});
  CHECK(findings(spec, 1).empty());
}

TEST_CASE("availability: device, ranks (L991 when they differ), number formats") {
  CHECK(says(finding([](auto& s) { s.device.value = plan::Device::cuda; }), "GPU"));
  CHECK(says(finding([](auto& s) { s.dtype.value = plan::Dtype::bf16; }), "bf16 parameters"));
  CHECK(says(finding([](auto& s) { s.accumulate = {plan::Dtype::fp64, {}, true}; }), "accumulating"));
  sema::Spec spec = runnable();
  for (const plan::AmpMode mode : {plan::AmpMode::fp16, plan::AmpMode::bf16}) {
    spec.amp.value.mode = mode;
    CHECK(findings(spec, 1).empty());
  }
  CHECK(findings(spec, 4).empty());
  spec.ranks.value = 4;
  CHECK(findings(spec, 4).empty());
  spec.ranks.value = 1;
  CHECK(findings(spec, 4) ==
        std::vector<std::string>{"the loop fixes `ranks = 1`, but `--ranks 4` was asked for"});
}

TEST_CASE("availability: models, initial weights, BatchNorm") {
  CHECK(says(finding([](auto& s) { s.model.component.name = "resnet"; }), "the model `resnet`"));
  CHECK(says(finding([](auto& s) { s.init_weights.value = "w.safetensors"; }), "file of weights"));
  CHECK(says(finding([](auto& s) { s.batch_norm.value = plan::BatchNorm::across_ranks; }), "across ranks"));
  CHECK(says(finding([](auto& s) { s.batch_norm.value = plan::BatchNorm::frozen; }), "frozen BatchNorm"));
}

TEST_CASE("availability: sources, losses, units") {
  CHECK(says(finding([](auto& s) { s.data.sources[0].source.component.name = "parquet"; }), "`parquet`"));
  CHECK(says(finding([](auto& s) { s.data.sources[0].facts.split_by_file = true; }), "split among ranks"));
  CHECK(says(finding([](auto& s) { s.terms[0].term.component.name = "moe_balance"; }), "`moe_balance`"));
  CHECK(says(finding([](auto& s) { s.count_classes[0].unit = plan::CountUnit::boxes; }), "per boxes"));
}

TEST_CASE("availability: memory, checkpoints, resume") {
  CHECK(says(finding([](auto& s) { s.window.oom.value = plan::OomPolicy::halve; }), "oom = halve"));
  CHECK(says(finding([](auto& s) { s.checkpoint.value = plan::Checkpoint{}; }), "`checkpoint`"));
  CHECK(says(finding([](auto& s) { s.resume.value = "auto"; }), "`resume`"));
}
