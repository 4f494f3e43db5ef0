// Lowering and the plan for a person. Golden texts: tests/golden/plan/NAME.loop and NAME.txt;
// LOOP_UPDATE_GOLDEN=1 writes them anew.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/check/check.h"
#include "compiler/plan/dump.h"
#include "compiler/plan/lower.h"
#include "compiler/plan/passes/passes.h"
#include "compiler/plan/prediction.h"
#include "compiler/sema/analyze.h"
#include "runtime/plan/json.h"
#include "tests/support/golden.h"

namespace fs = std::filesystem;
using namespace loop;

namespace {

const fs::path kGolden = fs::path(LOOP_SOURCE_DIR) / "tests" / "golden" / "plan";

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct Planned {
  base::SourceManager sources;
  diagnostics::Engine engine;
  std::vector<sema::Spec> specs;
};

Planned analyzed(const std::string& path, const std::string& text) {
  Planned result;
  sema::Options options;
  options.path = path;
  options.text = text;
  options.stdlib_dir = LOOP_SOURCE_DIR "/stdlib";
  result.specs = sema::analyze(result.sources, result.engine, options).specs;
  for (const sema::Spec& spec : result.specs) check::check(spec, result.engine);
  return result;
}

/// The hash depends on where the spec lies.
std::string without_hash(std::string text) {
  const size_t at = text.find("(plan ");
  if (at != std::string::npos) text.replace(at + 6, 16, "HASH");
  return text;
}

}  // namespace

TEST_CASE("plans for a person") {
  int seen = 0;
  for (const auto& entry : fs::directory_iterator(kGolden)) {
    if (entry.path().extension() != ".loop") continue;
    ++seen;
    CAPTURE(entry.path().string());
    Planned planned = analyzed(entry.path().filename().string(), read(entry.path()));
    REQUIRE(!planned.engine.has_errors());
    REQUIRE(planned.specs.size() == 1);
    plan::Plan plan = planner::lower(planned.specs.front(), planned.sources);
    for (const planner::Pass& pass : planner::passes()) pass.run(plan);
    std::ostringstream out;
    planner::dump(out, plan, planner::ModelSize{1000, false}, std::nullopt);
    planner::DataFacts facts;
    facts.train_samples = 1003;
    facts.tokens_per_epoch = 60000;
    facts.micro_batches_per_epoch = 126;
    facts.updates_per_epoch = 32;
    facts.lost_samples_per_epoch = 11;
    facts.planned_updates = 960;
    facts.parameters = 12345678;
    facts.trainable_parameters = 12345678;
    if (plan.data.micro_batch_auto) facts.notes = {"micro_batch = auto: 5 samples", "recompute: 1 MiB less"};
    out << "\n---- with --data ----\n\n";
    planner::dump(out, plan, planner::ModelSize{1000, false}, facts);
    std::string shown = without_hash(out.str());
    shown = shown.substr(0, shown.find("---- with --data ----")) +
            without_hash(shown.substr(shown.find("---- with --data ----")));
    const fs::path golden = fs::path(entry.path()).replace_extension(".txt");
    loop::testing::check_golden(golden, shown);
  }
  CHECK(seen >= 3);
}

TEST_CASE("a prediction for many ranks, for a person") {
  Planned planned = analyzed("canonical.loop", read(kGolden / "canonical.loop"));
  REQUIRE(planned.specs.size() == 1);
  plan::Plan plan = planner::lower(planned.specs.front(), planned.sources);
  // 20 matrices of 4 MiB: five buckets of 16 MiB; one more for a shared table that is larger than a bucket.
  planner::ModelSlots slots;
  slots.groups.emplace_back(20, plan::SlotSize{int64_t{1} << 20, false});
  slots.groups.front().push_back({int64_t{5} << 20, true});
  slots.parameters = int64_t{25} << 20;
  std::ostringstream out;
  planner::dump_prediction(out, planner::predict(plan, 1024, slots, ""));
  plan.window.sync = plan::Sync::every;
  for (plan::Operation& operation : plan.micro) operation.sync_on = plan::SyncOn::every;
  out << "\n---- sync = every ----\n";
  const planner::Prediction every = planner::predict(plan, 1024, slots, "");
  planner::dump_prediction(out, every);
  CHECK(every.collectives() == 4 * 6 + 1);
  out << "\n---- without --data ----\n";
  std::string unknown;
  const auto described = planner::described_slots(planned.specs.front(), unknown);
  CHECK(!described);
  const planner::Prediction blind = planner::predict(plan, 1024, described, unknown);
  planner::dump_prediction(out, blind);
  CHECK(planner::to_json(blind)["collectives"].is_null());
  out << "\n---- LOOP_BUCKET_BYTES = 8388608 ----\n";
  const planner::Prediction small = planner::predict(plan, 1024, slots, "", int64_t{8} << 20);
  planner::dump_prediction(out, small);
  CHECK(small.bucket_bytes.size() == 11);
  out << "\n---- one rank ----\n";
  planner::dump_prediction(out, planner::predict(plan, 1, slots, ""));
  loop::testing::check_golden(kGolden / "many_ranks.txt", out.str());
}

TEST_CASE("a prediction where the run chooses the micro-batch waits for the choice") {
  const fs::path spec = kGolden / "automatic_micro_batch.loop";
  Planned planned = analyzed("automatic_micro_batch.loop", read(spec));
  REQUIRE(planned.specs.size() == 1);
  plan::Plan plan = planner::lower(planned.specs.front(), planned.sources);
  CHECK(!planner::predict(plan, 2, std::nullopt, "no data").micro_batches);
  plan.data.micro_batch_samples = 5;  // 16 samples for each of two ranks
  CHECK(planner::predict(plan, 2, std::nullopt, "no data").micro_batches == 4);
}

TEST_CASE("a lowered operation knows its place, and the plan survives its JSON form") {
  const fs::path spec = kGolden / "written_fp16.loop";
  Planned planned = analyzed("written_fp16.loop", read(spec));
  REQUIRE(planned.specs.size() == 1);
  const plan::Plan plan = planner::lower(planned.specs.front(), planned.sources);
  CHECK(fs::path(plan.base_dir).is_absolute());
  CHECK(!plan.canonical_micro);
  CHECK(!plan.canonical_update);
  REQUIRE(!plan.update.empty());
  CHECK(plan.update[0].kind == plan::OpKind::unscale);
  const std::string text = read(spec);
  const size_t line = 1 + static_cast<size_t>(std::count(
                              text.begin(), text.begin() + static_cast<long>(text.find("unscale")), '\n'));
  CHECK(plan.update[0].place.line == line);
  CHECK(plan.update[0].place.file == "written_fp16.loop");
  CHECK(plan::from_json(plan::to_json(plan)) == plan);
  CHECK(plan.spec_files == planned.specs.front().spec_files);
}

TEST_CASE("the canonical order is written into the plan") {
  Planned planned = analyzed("example.loop", read(kGolden / "canonical.loop"));
  REQUIRE(planned.specs.size() == 1);
  const plan::Plan plan = planner::lower(planned.specs.front(), planned.sources);
  CHECK(plan.canonical_micro);
  CHECK(plan.canonical_update);
  REQUIRE(plan.micro.size() == 1);
  CHECK(plan.micro[0].kind == plan::OpKind::sync_on);
  CHECK(plan.micro[0].body.back().kind == plan::OpKind::backward);
  CHECK(plan.update.front().kind == plan::OpKind::normalize);
  CHECK(plan.update.back().kind == plan::OpKind::zero_grad);
}
