#include "compiler/kernels/llvm/element_code.h"

#include <array>
#include <stdexcept>

namespace loop::kernels {
namespace {

using llvm::CmpInst;
using llvm::Value;
using plan::Expression;

constexpr std::array<std::pair<const char*, CmpInst::Predicate>, 6> kComparisons = {{
    {"<", CmpInst::FCMP_OLT},
    {"<=", CmpInst::FCMP_OLE},
    {">", CmpInst::FCMP_OGT},
    {">=", CmpInst::FCMP_OGE},
    {"==", CmpInst::FCMP_OEQ},
    {"!=", CmpInst::FCMP_UNE},
}};

constexpr std::array<std::pair<const char*, llvm::Intrinsic::ID>, 8> kIntrinsics = {{
    {"abs", llvm::Intrinsic::fabs},
    {"exp", llvm::Intrinsic::exp},
    {"log", llvm::Intrinsic::log},
    {"sqrt", llvm::Intrinsic::sqrt},
    {"sin", llvm::Intrinsic::sin},
    {"cos", llvm::Intrinsic::cos},
    {"floor", llvm::Intrinsic::floor},
    {"ceil", llvm::Intrinsic::ceil},
}};

}  // namespace

bool is_truth(const Expression& expression) {
  if (expression.kind != Expression::Kind::apply) return false;
  for (const auto& [name, predicate] : kComparisons)
    if (expression.name == name) return true;
  return expression.name == "and" || expression.name == "or" || expression.name == "not";
}

void ElementCode::run(const Split& split, size_t count) {
  for (size_t i = 0; i < count; ++i) define(split.elements[i].target, number(split.elements[i].value));
}

Value* ElementCode::number(const Expression& expression) {
  switch (expression.kind) {
    case Expression::Kind::constant:
      return constant(expression.value);
    case Expression::Kind::variable:
      return value(expression.name);
    case Expression::Kind::apply:
      break;
  }
  if (is_truth(expression)) return b_.CreateSelect(truth(expression), constant(1), constant(0));
  return apply(expression);
}

Value* ElementCode::truth(const Expression& expression) {
  if (!is_truth(expression)) return b_.CreateFCmpUNE(number(expression), constant(0));
  const auto& operands = expression.operands;
  if (expression.name == "not") return b_.CreateNot(truth(operands[0]));
  // Both sides are computed: neither has an effect, and lanes cannot branch each for itself.
  if (expression.name == "and") return b_.CreateAnd(truth(operands[0]), truth(operands[1]));
  if (expression.name == "or") return b_.CreateOr(truth(operands[0]), truth(operands[1]));
  return compare(expression.name, operands);
}

Value* ElementCode::compare(const std::string& name, const std::vector<Expression>& operands) {
  for (const auto& [known, predicate] : kComparisons)
    if (name == known) return b_.CreateFCmp(predicate, number(operands[0]), number(operands[1]));
  throw std::invalid_argument("no comparison `" + name + "`");
}

Value* ElementCode::power(const std::vector<Expression>& operands) {
  Value* base = number(operands[0]);
  if (operands[1].kind == Expression::Kind::constant && operands[1].value == 2)
    return b_.CreateFMul(base, base);
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::pow, base, number(operands[1]));
}

Value* ElementCode::extreme(const std::vector<Expression>& operands, bool least) {
  // As std::min_element: the first of equals, and a NaN is never less.
  Value* best = number(operands[0]);
  for (size_t i = 1; i < operands.size(); ++i) {
    Value* next = number(operands[i]);
    Value* better = least ? b_.CreateFCmpOLT(next, best) : b_.CreateFCmpOLT(best, next);
    best = b_.CreateSelect(better, next, best);
  }
  return best;
}

Value* ElementCode::apply(const Expression& expression) {
  const std::string& name = expression.name;
  const auto& operands = expression.operands;
  if (name == "if") return b_.CreateSelect(truth(operands[0]), number(operands[1]), number(operands[2]));
  if (name == "min" || name == "max") return extreme(operands, name == "min");
  if (name == "^") return power(operands);
  Value* first = number(operands.at(0));
  if (name == "neg") return b_.CreateFNeg(first);
  if (name == "sign") {
    Value* below = b_.CreateSelect(b_.CreateFCmpOLT(first, constant(0)), constant(-1), first);
    return b_.CreateSelect(b_.CreateFCmpOGT(first, constant(0)), constant(1), below);
  }
  for (const auto& [known, intrinsic] : kIntrinsics)
    if (name == known) return b_.CreateUnaryIntrinsic(intrinsic, first);
  Value* second = number(operands.at(1));
  if (name == "+") return b_.CreateFAdd(first, second);
  if (name == "-") return b_.CreateFSub(first, second);
  if (name == "*") return b_.CreateFMul(first, second);
  if (name == "/") return b_.CreateFDiv(first, second);
  if (name == "mod") {
    Value* quotient = b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, b_.CreateFDiv(first, second));
    return b_.CreateFSub(first, b_.CreateFMul(second, quotient));
  }
  throw std::invalid_argument("no function `" + name + "` on elements");
}

}  // namespace loop::kernels
