// What a run is made of: data, model, parameters, objective. Built once, in the order that makes them right:
// seed, data, model, parameters in their final place and type, then everything that refers to them.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "loop/model.h"
#include "loop/source.h"
#include "runtime/data/window_former.h"
#include "runtime/distributed/communicator.h"
#include "runtime/engine/objective.h"
#include "runtime/gradients/parameters.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/rule_kernel.h"

namespace loop::engine {

using Sources = std::map<std::string, std::unique_ptr<Source>>;

struct Parts {
  plan::Plan plan;
  std::shared_ptr<distributed::Communicator> ranks = distributed::alone();
  Sources sources;
  std::shared_ptr<Model> model;
  std::unique_ptr<gradients::Parameters> parameters;
  std::unique_ptr<Objective> objective;
  data::WindowFormerOptions former;
  plan::RuleCompiler compile_rule;  // empty: no step can be applied

  const Source& train() const { return *sources.at(plan.data.train); }
};

/// The sources that are trained on or evaluated. Relative paths start at `data_dir`, or at the spec's folder
/// when it is empty. Throws loop::Error (usage) for missing or malformed data.
Sources make_sources(const plan::Plan& plan, const std::filesystem::path& data_dir);

/// Throws loop::Error (findings) for what does not fit together: unknown names, groups that are no partition,
/// a metric that does not exist; and (distributed) for ranks that do not start with the same plan and data.
/// Every rank starts with rank 0's parameters and buffers.
Parts assemble(plan::Plan plan, Sources sources,
               std::shared_ptr<distributed::Communicator> ranks = distributed::alone(),
               plan::RuleCompiler compile_rule = {});

/// The target value that is not counted as a token: that of the first class in tokens, else of the first
/// class.
std::optional<int64_t> ignored_target(const plan::Plan& plan);

/// "4 micro_batches", "1 -> 8 micro_batches".
std::string to_text(const plan::WindowSize& size);

}  // namespace loop::engine
