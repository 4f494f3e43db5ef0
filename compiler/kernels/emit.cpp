#include "compiler/kernels/emit.h"

#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>

#include <functional>

#include "compiler/kernels/llvm/element_code.h"

namespace loop::kernels {
namespace {

using llvm::BasicBlock;
using llvm::Function;
using llvm::FunctionType;
using llvm::Type;
using llvm::Value;

constexpr unsigned kLanes = 8;

/// What the functions of one rule have in common.
class Emitter {
 public:
  Emitter(llvm::Module& module, const Split& split, const plan::UpdateRule& rule, Element element)
      : module_(module),
        context_(module.getContext()),
        b_(context_),
        split_(split),
        rule_(rule),
        number_(element == Element::f32 ? Type::getFloatTy(context_) : Type::getDoubleTy(context_)),
        real_(Type::getDoubleTy(context_)),
        index_(Type::getInt64Ty(context_)),
        flag_(Type::getInt8Ty(context_)),
        pointer_(llvm::PointerType::getUnqual(context_)) {}

  void host_update() {
    Function* inner = disjoint_update();
    Function* function = make("update", Type::getVoidTy(context_),
                              {pointer_, pointer_, real_, index_, index_, flag_}, Function::ExternalLinkage);
    start(function);
    std::vector<Value*> arguments;
    for (size_t i = 0; i < array_count(); ++i) arguments.push_back(array_of(function->getArg(0), i));
    for (unsigned i = 1; i < 6; ++i) arguments.push_back(function->getArg(i));
    b_.CreateCall(inner, arguments);
    b_.CreateRetVoid();
  }

  void host_norm(size_t j) {
    Function* function = make("norm_" + std::to_string(j), real_, {pointer_, pointer_, real_, index_, index_},
                              Function::ExternalLinkage);
    start(function);
    Value* begin = function->getArg(3);
    Value* end = function->getArg(4);
    std::vector<Value*> arrays;
    for (size_t i = 0; i < array_count(); ++i) arrays.push_back(array_of(function->getArg(0), i));
    const std::vector<Value*> scalars = load_scalars(function->getArg(1));
    Value* factor = function->getArg(2);

    // Whole groups of lanes, then the rest one by one into the first lanes' sum.
    Value* whole = b_.CreateAnd(b_.CreateSub(end, begin), b_.getInt64(~static_cast<uint64_t>(kLanes - 1)));
    Value* middle = b_.CreateAdd(begin, whole);
    Type* wide = llvm::FixedVectorType::get(number_, kLanes);
    Type* wide_real = llvm::FixedVectorType::get(real_, kLanes);
    Value* lanes = sum(begin, middle, kLanes, wide_real, [&](Value* i) {
      Value* x = norm_argument(split_.norms[j], arrays, scalars, factor, i, wide);
      x = number_ == real_ ? x : b_.CreateFPExt(x, wide_real);
      return b_.CreateFMul(x, x);
    });
    Value* rest = sum(middle, end, 1, real_, [&](Value* i) {
      Value* x = norm_argument(split_.norms[j], arrays, scalars, factor, i, number_);
      x = number_ == real_ ? x : b_.CreateFPExt(x, real_);
      return b_.CreateFMul(x, x);
    });
    for (unsigned width = kLanes / 2; width > 0; width /= 2) {
      std::vector<int> low, high;
      for (unsigned lane = 0; lane < width; ++lane) {
        low.push_back(static_cast<int>(lane));
        high.push_back(static_cast<int>(lane + width));
      }
      lanes = b_.CreateFAdd(b_.CreateShuffleVector(lanes, low), b_.CreateShuffleVector(lanes, high));
    }
    b_.CreateRet(b_.CreateFAdd(b_.CreateExtractElement(lanes, b_.getInt32(0)), rest));
  }

  void device_update() {
    const bool on_device = llvm::Triple(module_.getTargetTriple()).isNVPTX();
    std::vector<Type*> types(array_count(), pointer_);
    types.insert(types.end(), split_.scalars.size() + 1, real_);
    types.insert(types.end(), {index_, flag_});
    if (!on_device) types.insert(types.end(), {index_, index_});
    Function* function = make("update", Type::getVoidTy(context_), types, Function::ExternalLinkage);
    for (size_t i = 0; i < array_count(); ++i)
      function->addParamAttr(static_cast<unsigned>(i), llvm::Attribute::NoAlias);
    start(function);
    std::vector<Value*> arrays, scalars;
    auto* argument = function->arg_begin();
    for (size_t i = 0; i < array_count(); ++i) arrays.push_back(argument++);
    for (size_t i = 0; i < split_.scalars.size(); ++i) scalars.push_back(narrow(argument++));
    Value* factor = narrow(argument++);
    Value* n = argument++;
    Value* zero = b_.CreateICmpNE(argument++, b_.getInt8(0));
    Value *thread = nullptr, *threads = nullptr;
    if (on_device) {
      mark_as_kernel(function);
      Value* block = special_register(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
      Value* blocks = special_register(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x);
      Value* size = special_register(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
      Value* own = special_register(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
      thread = b_.CreateAdd(b_.CreateMul(block, size), own);
      threads = b_.CreateMul(blocks, size);
    } else {
      thread = argument++;
      threads = argument++;
    }
    loop(thread, n, threads, [&](Value* i) { update_element(arrays, scalars, factor, zero, i); });
    b_.CreateRetVoid();
  }

  void thread_call() {
    Function* thread = module_.getFunction("update");
    Function* function =
        make("update_thread", Type::getVoidTy(context_),
             {pointer_, pointer_, real_, index_, flag_, index_, index_}, Function::ExternalLinkage);
    start(function);
    std::vector<Value*> arguments;
    for (size_t i = 0; i < array_count(); ++i) arguments.push_back(array_of(function->getArg(0), i));
    for (size_t i = 0; i < split_.scalars.size(); ++i)
      arguments.push_back(b_.CreateLoad(real_, b_.CreateConstInBoundsGEP1_64(real_, function->getArg(1), i)));
    for (unsigned i = 2; i < 7; ++i) arguments.push_back(function->getArg(i));
    b_.CreateCall(thread, arguments);
    b_.CreateRetVoid();
  }

 private:
  size_t array_count() const { return 2 + rule_.states.size(); }

  std::string array_name(size_t i) const { return i == 0 ? "param" : i == 1 ? "grad" : rule_.states[i - 2]; }

  Function* make(const std::string& name, Type* result, const std::vector<Type*>& types,
                 Function::LinkageTypes linkage) {
    Function* function = Function::Create(FunctionType::get(result, types, false), linkage, name, module_);
    function->setDoesNotThrow();
    return function;
  }

  void start(Function* function) { b_.SetInsertPoint(BasicBlock::Create(context_, "entry", function)); }

  Value* array_of(Value* arrays, size_t i) {
    return b_.CreateLoad(pointer_, b_.CreateConstInBoundsGEP1_64(pointer_, arrays, i));
  }

  Value* narrow(Value* real) { return number_ == real_ ? real : b_.CreateFPTrunc(real, number_); }

  std::vector<Value*> load_scalars(Value* scalars) {
    std::vector<Value*> values;
    for (size_t i = 0; i < split_.scalars.size(); ++i)
      values.push_back(narrow(b_.CreateLoad(real_, b_.CreateConstInBoundsGEP1_64(real_, scalars, i))));
    return values;
  }

  /// The loop over elements, told that the arrays do not overlap; never inlined, so that it stays told.
  Function* disjoint_update() {
    std::vector<Type*> types(array_count(), pointer_);
    types.insert(types.end(), {pointer_, real_, index_, index_, flag_});
    Function* function = make("update_disjoint", Type::getVoidTy(context_), types, Function::InternalLinkage);
    function->addFnAttr(llvm::Attribute::NoInline);
    for (size_t i = 0; i <= array_count(); ++i)
      function->addParamAttr(static_cast<unsigned>(i), llvm::Attribute::NoAlias);
    start(function);
    std::vector<Value*> arrays;
    auto* argument = function->arg_begin();
    for (size_t i = 0; i < array_count(); ++i) arrays.push_back(argument++);
    const std::vector<Value*> scalars = load_scalars(argument++);
    Value* factor = narrow(argument++);
    Value* begin = argument++;
    Value* end = argument++;
    Value* zero = b_.CreateICmpNE(argument++, b_.getInt8(0));
    loop(begin, end, b_.getInt64(1), [&](Value* i) { update_element(arrays, scalars, factor, zero, i); });
    b_.CreateRetVoid();
    return function;
  }

  /// for (i = begin; i < end; i += stride) body(i)
  void loop(Value* begin, Value* end, Value* stride, const std::function<void(Value*)>& body) {
    Function* function = b_.GetInsertBlock()->getParent();
    BasicBlock* before = b_.GetInsertBlock();
    BasicBlock* inside = BasicBlock::Create(context_, "element", function);
    BasicBlock* after = BasicBlock::Create(context_, "done", function);
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), inside, after);
    b_.SetInsertPoint(inside);
    llvm::PHINode* i = b_.CreatePHI(index_, 2, "i");
    i->addIncoming(begin, before);
    body(i);
    Value* next = b_.CreateNSWAdd(i, stride);
    i->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(next, end), inside, after);
    b_.SetInsertPoint(after);
  }

  /// Σ term(i), i = begin, begin + stride … < end
  Value* sum(Value* begin, Value* end, unsigned stride, Type* type,
             const std::function<Value*(Value*)>& term) {
    Function* function = b_.GetInsertBlock()->getParent();
    BasicBlock* before = b_.GetInsertBlock();
    BasicBlock* inside = BasicBlock::Create(context_, "term", function);
    BasicBlock* after = BasicBlock::Create(context_, "summed", function);
    Value* nothing = llvm::Constant::getNullValue(type);
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), inside, after);
    b_.SetInsertPoint(inside);
    llvm::PHINode* i = b_.CreatePHI(index_, 2, "i");
    llvm::PHINode* total = b_.CreatePHI(type, 2, "total");
    i->addIncoming(begin, before);
    total->addIncoming(nothing, before);
    Value* added = b_.CreateFAdd(total, term(i));
    Value* next = b_.CreateNSWAdd(i, b_.getInt64(stride));
    i->addIncoming(next, b_.GetInsertBlock());
    total->addIncoming(added, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(next, end), inside, after);
    BasicBlock* last = b_.GetInsertBlock();
    b_.SetInsertPoint(after);
    llvm::PHINode* result = b_.CreatePHI(type, 2, "sum");
    result->addIncoming(nothing, before);
    result->addIncoming(added, last);
    return result;
  }

  Value* load(Value* array, Value* i, Type* type) {
    return b_.CreateAlignedLoad(type, b_.CreateInBoundsGEP(number_, array, i), element_alignment());
  }
  void store(Value* value, Value* array, Value* i) {
    b_.CreateAlignedStore(value, b_.CreateInBoundsGEP(number_, array, i), element_alignment());
  }
  llvm::Align element_alignment() const { return llvm::Align(number_ == real_ ? 8 : 4); }

  /// Names bound to this element's values; `type` is the number or a vector of it.
  ElementCode element_code(const std::vector<Value*>& arrays, const std::vector<Value*>& scalars,
                           Value* factor, Value* i, Type* type) {
    ElementCode code(b_, type);
    const auto spread = [&](Value* value) {
      return type == number_ ? value : b_.CreateVectorSplat(kLanes, value);
    };
    for (size_t array = 0; array < arrays.size(); ++array) {
      Value* value = load(arrays[array], i, type);
      if (array == 1) value = b_.CreateFMul(value, spread(factor));
      code.define(array_name(array), value);
    }
    for (size_t slot = 0; slot < scalars.size(); ++slot) code.define(slot_name(slot), spread(scalars[slot]));
    return code;
  }

  void update_element(const std::vector<Value*>& arrays, const std::vector<Value*>& scalars, Value* factor,
                      Value* zero, Value* i) {
    Value* raw = load(arrays[1], i, number_);
    ElementCode code = element_code(arrays, scalars, factor, i, number_);
    code.run(split_, split_.elements.size());
    for (size_t array = 0; array < arrays.size(); ++array)
      if (array != 1) store(code.value(array_name(array)), arrays[array], i);
    store(b_.CreateSelect(zero, code.constant(0), raw), arrays[1], i);
  }

  Value* norm_argument(const Split::Norm& norm, const std::vector<Value*>& arrays,
                       const std::vector<Value*>& scalars, Value* factor, Value* i, Type* type) {
    ElementCode code = element_code(arrays, scalars, narrow(factor), i, type);
    code.run(split_, norm.statements);
    return code.value(norm.of);
  }

  Value* special_register(llvm::Intrinsic::ID which) {
    return b_.CreateZExt(b_.CreateIntrinsic(which, {}, {}), index_);
  }

  void mark_as_kernel(Function* function) {
    llvm::Metadata* entries[] = {
        llvm::ValueAsMetadata::get(function), llvm::MDString::get(context_, "kernel"),
        llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(Type::getInt32Ty(context_), 1))};
    module_.getOrInsertNamedMetadata("nvvm.annotations")->addOperand(llvm::MDNode::get(context_, entries));
  }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  const Split& split_;
  const plan::UpdateRule& rule_;
  Type* number_;
  Type* real_;
  Type* index_;
  Type* flag_;
  llvm::PointerType* pointer_;
};

bool only_in_library(const std::string& name, const std::vector<plan::Expression>& operands) {
  if (name == "^") return !(operands[1].kind == plan::Expression::Kind::constant && operands[1].value == 2);
  return name == "exp" || name == "log" || name == "sin" || name == "cos";
}

std::string first_in_library(const plan::Expression& expression) {
  if (expression.kind != plan::Expression::Kind::apply) return "";
  if (only_in_library(expression.name, expression.operands)) return expression.name;
  for (const plan::Expression& operand : expression.operands)
    if (std::string found = first_in_library(operand); !found.empty()) return found;
  return "";
}

}  // namespace

void emit_host(llvm::Module& module, const Split& split, const plan::UpdateRule& rule, Element element) {
  Emitter emitter(module, split, rule, element);
  emitter.host_update();
  for (size_t j = 0; j < split.norms.size(); ++j) emitter.host_norm(j);
}

void emit_device(llvm::Module& module, const Split& split, const plan::UpdateRule& rule, Element element) {
  Emitter(module, split, rule, element).device_update();
}

void emit_thread_call(llvm::Module& module, const Split& split, const plan::UpdateRule& rule,
                      Element element) {
  Emitter(module, split, rule, element).thread_call();
}

std::string not_for_device(const Split& split) {
  for (const plan::UpdateRule::Statement& statement : split.elements)
    if (std::string found = first_in_library(statement.value); !found.empty()) return found;
  return "";
}

}  // namespace loop::kernels
