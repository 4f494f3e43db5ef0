#include "standard_rules.h"

#include <map>
#include <stdexcept>

#include "compiler/plan/passes/passes.h"
#include "compiler/plan/update_rule.h"
#include "compiler/sema/analyze.h"

namespace loop::testing {
namespace {

plan::UpdateRule read_rule(const std::string& name) {
  base::SourceManager sources;
  diagnostics::Engine engine;
  sema::Options options;
  options.path = "rule.loop";
  options.text = "use std.optimizers." + name +
                 "\n"
                 "loop rule {\n"
                 "  model = mlp(hidden: [8])\n"
                 "  data { train = idx(images: \"images\", labels: \"labels\"); micro_batch = 8 samples }\n"
                 "  loss = cross_entropy() per samples\n"
                 "  window { size = 4 micro_batches; tail = flush }\n"
                 "  update { normalize; step " +
                 name +
                 "(lr: 0.1); zero_grad }\n"
                 "  stop = 1 updates\n"
                 "}\n";
  options.stdlib_dir = LOOP_SOURCE_DIR "/stdlib";
  const auto specs = sema::analyze(sources, engine, options).specs;
  if (specs.empty() || specs.front().rules.empty())
    throw std::runtime_error("std.optimizers." + name + " cannot be read");
  return planner::update_rule(specs.front().rules.front());
}

void add_rules(const std::vector<plan::Operation>& operations, plan::Plan& plan) {
  const std::string standard = "std.optimizers.";
  for (const plan::Operation& operation : operations) {
    add_rules(operation.body, plan);
    if (operation.kind != plan::OpKind::step || plan.rule_of(operation.rule)) continue;
    if (operation.rule.optimizer.starts_with(standard))
      plan.rules.push_back(standard_rule(operation.rule.optimizer.substr(standard.size())));
  }
}

}  // namespace

const plan::UpdateRule& standard_rule(const std::string& name) {
  static std::map<std::string, plan::UpdateRule> known;
  const auto found = known.find(name);
  return found != known.end() ? found->second : known.emplace(name, read_rule(name)).first->second;
}

plan::Plan completed(plan::Plan plan) {
  add_rules(std::vector<plan::Operation>(plan.micro), plan);
  add_rules(std::vector<plan::Operation>(plan.update), plan);
  for (const planner::Pass& pass : planner::passes()) pass.run(plan);
  return plan;
}

}  // namespace loop::testing
