// The factors of `scale_loss(E)` and `scale_grad(E)`: a number times powers of a few symbols.
#pragma once

#include <optional>

#include "compiler/sema/program.h"

namespace loop::sema {

/// Nothing when it is no such product (reported). `operation` is "scale_loss" or "scale_grad".
std::optional<plan::Factor> read_factor(Context& context, const ast::Expr& expr,
                                        const ProgramSurroundings& around, const std::string& operation);

/// Splits "tokens.global" into unit and scope; nothing for other names.
struct CountName {
  std::string unit;
  plan::Power::Symbol scope;
};
std::optional<CountName> as_count(const std::string& name);

/// Index of the count class a unit means; reports an unknown or an ambiguous unit.
std::optional<int> find_count_class(Context& context, const std::string& unit, Span span,
                                    const std::vector<plan::CountClass>& classes);

}  // namespace loop::sema
