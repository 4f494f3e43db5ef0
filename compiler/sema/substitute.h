// Replaces constants and recipe parameters in syntax trees by their values.
#pragma once

#include <map>

#include "compiler/sema/context.h"

namespace loop::sema {

using Bindings = std::map<std::string, ast::ExprPtr>;

class Substitution {
 public:
  Substitution(Context& context, const Bindings& bindings) : context_(context), bindings_(bindings) {}
  ast::ExprPtr expr(const ast::ExprPtr& expr);
  std::vector<ast::ItemPtr> items(const std::vector<ast::ItemPtr>& items);

 private:
  ast::ExprPtr replaced_name(const ast::ExprPtr& expr, const std::string& name);
  std::vector<ast::Arg> args(const std::vector<ast::Arg>& args);
  ast::ItemPtr item(const ast::ItemPtr& item);
  ast::Block block(const ast::Block& block);
  bool spend(Span span);

  Context& context_;
  const Bindings& bindings_;
  int open_constants_ = 0;
  size_t spent_ = 0;
};

}  // namespace loop::sema
