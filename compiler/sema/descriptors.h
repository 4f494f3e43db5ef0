// Models, sources and losses as the standard library (or the user's file) describes them: their arguments
// with types, and the facts the checker needs. docs/reference/descriptors.md has the spelling.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/sema/spec.h"
#include "compiler/sema/values.h"

namespace loop::sema {

/// What the data or another part of the loop decides, while a component is read.
struct ComponentSurroundings {
  std::optional<int64_t> context;  // the model's `context`, default of a sequence source's `length`
};

/// `model = gpt(…)`. An unknown name is a user's own model: nothing is known of it, and a note says so.
std::optional<ModelUse> read_model(Context& context, const ast::Expr& expr);

std::optional<SourceUse> read_source(Context& context, const ast::Head& item,
                                     const ComponentSurroundings& around);

/// A loss call with its facts; the weight and the unit are read by the caller.
struct LossUse {
  plan::Component component;
  LossFacts facts;
  std::optional<int64_t> ignore;
  std::vector<std::string> units;    // those it can be counted in; empty: any
  std::vector<std::string> metrics;  // beside its value
};
std::optional<LossUse> read_loss_call(Context& context, const ast::Call& call, Span span);

/// The definition of that kind a name means in a file: the user's, an imported or the standard library's.
/// Null when there is none.
const Definition* find_component(Context& context, Definition::Kind kind, const std::string& name,
                                 base::FileId file);

}  // namespace loop::sema
