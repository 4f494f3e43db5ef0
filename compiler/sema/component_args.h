// The arguments of a model, source or loss: read against the types its descriptor declares, kept as the
// plan's JSON.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/sema/spec.h"
#include "compiler/sema/values.h"

namespace loop::sema {

/// One declared parameter: `heads: integer in [1, inf)`, `dropout: number(0.0)`, `activation: choice(relu,
/// gelu)`.
struct ParameterType {
  enum class Kind { integer, number, boolean, choice, list, text, file, names, slice };
  std::string name;
  Kind kind = Kind::number;
  bool required = true;
  ast::ExprPtr fallback;  // null when there is none
  std::vector<std::string> choices;
  std::optional<double> low, high;
  bool low_closed = true, high_closed = true;
  Kind element = Kind::number;  // list
  Span span;
};

/// The parameters a descriptor declares; nothing when the declaration itself is wrong (reported).
std::optional<std::vector<ParameterType>> declared_parameters(Context& context, const Definition& descriptor);

struct ReadArguments {
  plan::json values =
      plan::json::object();  // in declared order, defaults filled in; without those only the data decides
  std::map<std::string, Span> spans;  // of the arguments that are written
  std::vector<Setting<std::string>> files;
};

/// Names a default may mention that are decided elsewhere: `context` by the model; null: by the data.
using DecidedElsewhere = std::map<std::string, plan::json>;

std::optional<ReadArguments> read_arguments(Context& context, const Definition& descriptor,
                                            const std::vector<ast::Arg>& args, Span span,
                                            const DecidedElsewhere& elsewhere);

/// Any expression as the plan's JSON, for components of which no types are known.
std::optional<plan::json> to_json(Context& context, const ast::Expr& expr);

}  // namespace loop::sema
