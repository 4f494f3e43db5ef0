#include "runtime/engine/run.h"

#include <iostream>

#include "loop/error.h"
#include "runtime/engine/available.h"
#include "runtime/engine/failure.h"
#include "runtime/engine/final_parameters.h"
#include "runtime/engine/interrupt.h"
#include "runtime/engine/micro_batch_choice.h"
#include "runtime/engine/report.h"
#include "runtime/engine/run_directory.h"
#include "runtime/engine/trainer.h"
#include "runtime/telemetry/jsonl.h"
#include "runtime/telemetry/memory.h"
#include "runtime/telemetry/progress.h"

namespace loop::engine {

namespace fs = std::filesystem;

namespace {

/// One line per output format.
void add_sinks(telemetry::Sinks& sinks, const plan::Plan& plan, const RunOptions& options,
               const fs::path& folder) {
  if (plan.log.enabled) sinks.add(std::make_unique<telemetry::JsonlSink>(folder / "metrics.jsonl"));
  if (options.progress) sinks.add(std::make_unique<telemetry::ProgressSink>(std::cout));
  if (options.also) sinks.add(options.also);
}

telemetry::RunEnd make_end(const Trainer& trainer, const fs::path& folder) {
  const Clocks& clocks = trainer.clocks();
  telemetry::RunEnd end;
  end.optimizer_step = clocks.updates;
  end.attempted = clocks.attempts;
  end.micro_step = clocks.micro_batches;
  end.epoch = clocks.epochs;
  end.samples_seen = clocks.samples_seen;
  end.tokens_seen = clocks.tokens_seen;
  end.lost_samples = trainer.lost_samples();
  end.directory = folder.string();
  end.peak_memory_bytes = telemetry::peak_memory_bytes();
  end.seconds = clocks.seconds;
  return end;
}

}  // namespace

namespace {

constexpr const char* kChoiceFile = "choice.json";

/// Those of the runs that were written to the same place, the newest first.
std::vector<fs::path> earlier_choices(const plan::Plan& plan, const RunOptions& options) {
  std::vector<fs::path> files;
  for (const fs::path& folder : earlier_run_directories(plan, options.out))
    files.insert(files.begin(), folder / kChoiceFile);
  return files;
}

/// The folder is rank 0's; the others report nothing and write nothing.
fs::path open_records(const Parts& parts, const Trainer& trainer, const RunOptions& options,
                      const std::optional<telemetry::MicroBatchChoice>& choice, telemetry::Sinks& sinks) {
  const plan::Plan& plan = parts.plan;
  const fs::path folder = make_run_directory(plan, options.out);
  add_sinks(sinks, plan, options, folder);

  telemetry::RunStart start = make_start(parts, trainer.planned_updates());
  start.directory = folder.string();
  start.micro_batch_choice = choice;
  if (choice) write_choice(folder / kChoiceFile, parts, *choice);
  sinks.start(start);
  if (choice) sinks.notice("micro_batch = auto: " + choice->reason);
  const fs::path wanted = wanted_run_directory(plan, options.out);
  if (folder.filename() != wanted.filename() && wanted.has_filename()) {
    sinks.notice(wanted.string() + " holds another run and was left alone");
  }

  for (const auto& [name, source] : parts.sources) {
    for (const std::string& note : source->info().notes) sinks.notice(name + ": " + note);
  }

  return folder;
}

int run_on(const plan::Plan& plan, const RunOptions& options) {
  distributed::Communicator& ranks = *options.ranks;
  refuse_unavailable(plan, ranks.size());
  Parts parts = assemble(plan, make_sources(plan, options.data_dir), options.ranks, options.compile_rule);
  telemetry::Sinks sinks;
  std::optional<telemetry::MicroBatchChoice> choice;
  if (micro_batch_is_open(plan)) choice = decide_micro_batch(parts, earlier_choices(plan, options));
  Trainer trainer(parts, sinks);
  const bool first = ranks.rank() == 0;
  const fs::path folder = first ? open_records(parts, trainer, options, choice, sinks) : fs::path();
  const InterruptGuard interrupts;  // reading data and model can be stopped at once
  try {
    const Ending ending = trainer.run([&interrupts] { return interrupts.requested(); });
    telemetry::RunEnd end = make_end(trainer, folder);
    end.status = ending.interrupted ? "interrupted" : "done";
    end.reason = ending.reason;
    end.discarded_micro_batches = ending.discarded_micro_batches;
    if (first)
      end.parameters_file = write_parameters(plan, *parts.model, trainer.averages(), folder).string();
    sinks.end(end);
    return ending.interrupted ? kInterruptedExitCode : 0;
  } catch (const std::exception& error) {
    telemetry::RunEnd end = make_end(trainer, folder);
    end.status = "failed";
    end.reason = reason(error);
    sinks.end(end);
    throw;
  }
}

}  // namespace

int run(const plan::Plan& plan, const RunOptions& options) {
  try {
    return run_on(plan, options);
  } catch (const std::exception& error) {
    tell_all(*options.ranks, error);
    if (const auto memory = out_of_memory(error)) throw *memory;
    throw;
  }
}

}  // namespace loop::engine
