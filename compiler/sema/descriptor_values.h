// The small language inside descriptors: facts and shapes computed from a component's arguments.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "compiler/sema/context.h"
#include "runtime/plan/plan.h"

namespace loop::sema {

/// A component's arguments by name, and `i` of `repeat(i: …)`. Null stands for what only the data decides
/// (vocabulary, classes, features); anything computed from it is null too.
using DescriptorNames = std::map<std::string, plan::json>;

/// Numbers, booleans, lists, comparisons, `not and or`, `+ - * /`, `mod(a, b)`, `count(list)`, `at(list, i)`
/// and `at(list, i, otherwise)`. Nothing when it is wrong (reported).
std::optional<plan::json> evaluate(Context& context, const ast::Expr& expr, const DescriptorNames& names);

/// "blocks.{i}.weight" with the names filled in.
std::string fill_in(const std::string& text, const DescriptorNames& names);

}  // namespace loop::sema
