// IR for the expressions of a rule, on one element or on several lanes at once.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <map>
#include <string>

#include "compiler/kernels/split.h"

namespace loop::kernels {

class ElementCode {
 public:
  /// `number` is the elements' type, or a vector of it.
  ElementCode(llvm::IRBuilder<>& builder, llvm::Type* number) : b_(builder), number_(number) {}

  void define(const std::string& name, llvm::Value* value) { values_[name] = value; }
  llvm::Value* value(const std::string& name) const { return values_.at(name); }
  llvm::Value* constant(double value) const { return llvm::ConstantFP::get(number_, value); }

  /// The first `count` statements; what they define can be read by `value` afterwards.
  void run(const Split& split, size_t count);

 private:
  llvm::Value* number(const plan::Expression& expression);
  llvm::Value* truth(const plan::Expression& expression);
  llvm::Value* apply(const plan::Expression& expression);
  llvm::Value* compare(const std::string& name, const std::vector<plan::Expression>& operands);
  llvm::Value* power(const std::vector<plan::Expression>& operands);
  llvm::Value* extreme(const std::vector<plan::Expression>& operands, bool least);

  llvm::IRBuilder<>& b_;
  llvm::Type* number_;
  std::map<std::string, llvm::Value*> values_;
};

/// "<", "and", "not" …: their value is a truth, 1 or 0 where a number is wanted.
bool is_truth(const plan::Expression& expression);

}  // namespace loop::kernels
