#include "runtime/verify/window_gradient.h"

#include <algorithm>

#include "loop/error.h"
#include "runtime/distributed/communicator.h"
#include "runtime/engine/interpreter.h"
#include "runtime/engine/open_window.h"
#include "runtime/engine/random.h"
#include "runtime/engine/rank_sync.h"
#include "runtime/engine/variables.h"
#include "runtime/verify/rank_program.h"

namespace loop::verify {

namespace {

using engine::MicroState;
using engine::WindowState;
using plan::Operation;
using plan::OpKind;
using plan::ReduceMode;

using Gradients = std::vector<torch::Tensor>;  // one per group

struct Rank {
  std::vector<Operation> micro, update;
  WindowState window;
  MicroState state;
  Gradients gradients;
  Gradients captured;  // undefined until a step reaches the group
};

class Execution {
 public:
  explicit Execution(const Setting& setting)
      : parts_(setting.parts),
        setting_(setting),
        clocks_(setting.clocks),
        averages_(parts_.plan.averages, *parts_.model, *parts_.parameters),
        steps_(parts_.plan, *parts_.parameters, parts_.compile_rule),
        alone_(distributed::alone()),
        sync_(parts_.plan, *parts_.parameters, *parts_.objective, *alone_),
        micro_operations_(*parts_.model, *parts_.objective, sync_),
        // Every rank executes as if it were alone: the reductions themselves, and W, are here.
        update_operations_(*parts_.parameters, *parts_.objective, steps_, averages_, clocks_, sync_,
                           engine::first_reduction(parts_.plan.update)),
        interpreter_(micro_operations_, update_operations_, *parts_.objective, clocks_, sync_),
        batches_(batches(setting)) {}

  SpecGradient run() {
    open();
    const torch::Tensor before = parts_.parameters->flat_parameters();
    engine::start_stream(parts_.plan.seed, engine::Stream::training,
                         static_cast<uint64_t>(setting_.clocks.attempts));
    for (size_t k = 0; k < batches_.size(); ++k) {
      for (size_t r = 0; r < ranks_.size(); ++r) {
        ranks_[r].state =
            engine::open_micro_batch(k, batches_.size(), parts_.objective->count(batches_[k][r]));
        ranks_[r].state.batch = &batches_[k][r];
      }
      block(&Rank::micro, parts_.plan.micro, true);
    }
    result_.moved = (parts_.parameters->flat_parameters() - before).abs().max().item<double>();
    block(&Rank::update, parts_.plan.update, false);
    return finish();
  }

 private:
  int64_t size() const { return static_cast<int64_t>(ranks_.size()); }

  void open() {
    ranks_.resize(setting_.ranks.size());
    result_.counts = parts_.objective->no_counts();
    std::vector<engine::Counts> own;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      const data::WindowPlan& window = setting_.ranks[r];
      ranks_[r].window =
          engine::open_window(parts_.plan, window, setting_.clocks, setting_.horizon, *parts_.objective);
      own.push_back(engine::count_window(parts_.plan.micro, ranks_[r].window, interpreter_, *parts_.objective,
                                         [&](size_t k) { return parts_.objective->count(batches_[k][r]); }));
      engine::add(result_.counts, own.back());
    }
    for (size_t r = 0; r < ranks_.size(); ++r) {
      Rank& rank = ranks_[r];
      // Counts mean the finished window's, wherever they are read.
      rank.window.counts = result_.counts;
      rank.window.rank_counts = own[r];
      rank.window.counts_complete = true;
      rank.micro = for_rank(parts_.plan.micro, size(), own[r], parts_.plan.count_classes);
      rank.update = for_rank(parts_.plan.update, size(), own[r], parts_.plan.count_classes);
      for (const gradients::ParameterGroup& group : parts_.parameters->groups()) {
        rank.gradients.push_back(torch::zeros_like(group.gradients));
      }
      rank.captured.resize(rank.gradients.size());
    }
    parts_.parameters->clear_touched();
  }

  void block(std::vector<Operation> Rank::*program, const std::vector<Operation>& original, bool in_micro) {
    std::vector<const std::vector<Operation>*> programs;
    std::vector<size_t> active;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      programs.push_back(&(ranks_[r].*program));
      active.push_back(r);
    }
    list(programs, original, active, in_micro, std::nullopt);
  }

  /// The same list on the active ranks, one operation after the other. `original`: the plan's, whose steps
  /// the engine knows by their place in memory.
  void list(const std::vector<const std::vector<Operation>*>& programs,
            const std::vector<Operation>& original, const std::vector<size_t>& active, bool in_micro,
            std::optional<plan::SyncOn> scope) {
    for (size_t i = 0; i < original.size(); ++i) {
      const Operation& operation = original[i];
      std::vector<const std::vector<Operation>*> bodies;
      for (const auto* program : programs) bodies.push_back(&(*program)[i].body);
      switch (operation.kind) {
        case OpKind::autocast:
          list(bodies, operation.body, active, in_micro, scope);
          break;
        case OpKind::sync_on:
          list(bodies, operation.body, active, in_micro, operation.sync_on);
          break;
        case OpKind::when: {
          std::vector<size_t> chosen;
          for (const size_t r : active) {
            const auto names = engine::variables(clocks_, *parts_.objective, ranks_[r].window,
                                                 in_micro ? &ranks_[r].state : nullptr);
            if (engine::value_of((*programs[r])[i].condition, names, "`when`") != 0) chosen.push_back(r);
          }
          if (!chosen.empty()) list(bodies, operation.body, chosen, in_micro, scope);
          break;
        }
        case OpKind::reduce:
          if (parts_.plan.window.sync == plan::Sync::manual) reduce(operation.reduce_mode, active, nullptr);
          break;
        default:
          if (operation.kind == OpKind::forward)
            for (const size_t r : active) ranks_[r].state.sync_scope = scope;
          leaf(programs, i, operation, active, in_micro);
      }
    }
  }

  void leaf(const std::vector<const std::vector<Operation>*>& programs, size_t i, const Operation& original,
            const std::vector<size_t>& active, bool in_micro) {
    const bool is_clip = original.kind == OpKind::clip_norm || original.kind == OpKind::clip_value;
    if (is_clip) result_.clips.push_back((*programs[active.front()])[i]);
    if (is_clip && !setting_.clip) return;
    std::vector<Gradients> before;
    for (const size_t r : active) {
      Rank& rank = ranks_[r];
      MicroState* micro = in_micro ? &rank.state : nullptr;
      if (original.kind == OpKind::backward) before.push_back(copy(rank.gradients));
      load(rank.gradients);
      if (original.kind == OpKind::step) {
        capture(original, rank);
        update_operations_.step(original, rank.window,
                                engine::variables(clocks_, *parts_.objective, rank.window, micro));
      } else {
        interpreter_.run(std::vector<Operation>{(*programs[r])[i]}, rank.window, micro);
        if (original.kind == OpKind::normalize && update_operations_.reduced_by_mean(rank.window)) {
          parts_.parameters->scale_gradients({}, static_cast<double>(size()));
        }
      }
      store(rank.gradients);
    }
    if (original.kind == OpKind::backward && ranks_[active.front()].state.synchronises) {
      const bool only_new = parts_.plan.canonical_micro && parts_.plan.window.sync == plan::Sync::every;
      reduce(parts_.plan.window.reduce, active, only_new ? &before : nullptr);
    }
  }

  void reduce(ReduceMode mode, const std::vector<size_t>& active, const std::vector<Gradients>* before) {
    if (active.size() != ranks_.size()) {
      throw Error(ErrorKind::findings,
                  "a reduction is reached by some ranks only: the others would wait for ever",
                  "guard reductions only by what is equal on all ranks; `loopc check` names the place");
    }
    for (Rank& rank : ranks_) rank.window.reduced_by = mode;
    for (size_t g = 0; g < ranks_.front().gradients.size(); ++g) {
      torch::Tensor total = torch::zeros_like(ranks_.front().gradients[g]);
      for (size_t r = 0; r < ranks_.size(); ++r) {
        total += before ? ranks_[r].gradients[g] - (*before)[r][g] : ranks_[r].gradients[g];
      }
      if (mode == ReduceMode::mean) total /= static_cast<double>(size());
      for (size_t r = 0; r < ranks_.size(); ++r) {
        ranks_[r].gradients[g] = before ? (*before)[r][g] + total : total.clone();
      }
    }
  }

  void capture(const Operation& step, Rank& rank) {
    const auto& groups = parts_.parameters->groups();
    for (size_t g = 0; g < groups.size(); ++g) {
      const bool meant =
          step.groups.empty() || std::count(step.groups.begin(), step.groups.end(), groups[g].name);
      if (meant && !rank.captured[g].defined()) rank.captured[g] = groups[g].gradients.clone();
    }
  }

  SpecGradient finish() {
    const auto& groups = parts_.parameters->groups();
    for (Rank& rank : ranks_) {
      for (size_t g = 0; g < groups.size(); ++g) {
        if (!rank.captured[g].defined()) {
          throw Error(ErrorKind::findings,
                      "no step on group '" + groups[g].name + "' was reached in this window",
                      "check the conditions around it");
        }
      }
      load(rank.captured);
      result_.flat.push_back(parts_.parameters->flat_gradient());
    }
    return std::move(result_);
  }

  static Gradients copy(const Gradients& from) {
    Gradients result;
    for (const torch::Tensor& one : from) result.push_back(one.clone());
    return result;
  }
  void load(const Gradients& from) {
    for (size_t g = 0; g < from.size(); ++g) parts_.parameters->groups()[g].gradients.copy_(from[g]);
  }
  void store(Gradients& to) const {
    for (size_t g = 0; g < to.size(); ++g) to[g].copy_(parts_.parameters->groups()[g].gradients);
  }

  engine::Parts& parts_;
  const Setting& setting_;
  Clocks clocks_;
  engine::Averages averages_;
  engine::Steps steps_;
  std::shared_ptr<distributed::Communicator> alone_;
  engine::RankSync sync_;
  engine::MicroOperations micro_operations_;
  engine::UpdateOperations update_operations_;
  engine::Interpreter interpreter_;
  std::vector<std::vector<Batch>> batches_;
  std::vector<Rank> ranks_;
  SpecGradient result_;
};

}  // namespace

std::vector<std::vector<Batch>> batches(const Setting& setting) {
  std::vector<std::vector<Batch>> result(setting.ranks.front().micro.size());
  for (const data::WindowPlan& rank : setting.ranks) {
    for (size_t k = 0; k < result.size(); ++k) {
      result[k].push_back(setting.parts.train().collate(rank.micro[k].samples, rank.micro[k].padding_rows));
    }
  }
  return result;
}

ModelGuard::ModelGuard(engine::Parts& parts) : parts_(parts) {
  for (const gradients::ParameterGroup& group : parts.parameters->groups()) {
    saved_.emplace_back(group.parameters, group.parameters.clone());
  }
  for (const torch::Tensor& buffer : parts.model->buffers()) saved_.emplace_back(buffer, buffer.clone());
  parts.parameters->zero_gradients();
}

ModelGuard::~ModelGuard() {
  const torch::NoGradGuard no_grad;
  for (auto& [place, content] : saved_) place.copy_(content);
  parts_.parameters->zero_gradients();
}

SpecGradient spec_gradient(const Setting& setting) {
  const ModelGuard guard(setting.parts);
  try {
    return Execution(setting).run();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::internal) throw;
    throw Error(ErrorKind::findings, std::string("the window cannot be executed: ") + error.what(),
                "see what `loopc check` says about the order of operations");
  }
}

}  // namespace loop::verify
