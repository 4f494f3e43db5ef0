// A split update rule as LLVM IR.
#pragma once

#include <string>

#include "compiler/kernels/split.h"

namespace llvm {
class Module;
}

namespace loop::kernels {

enum class Element { f32, f64 };

/// Functions that a host calls. `arrays`: param, grad, then the states, all of one element type and disjoint;
/// `scalars`: the slots' values in FP64.
///   void update(ptr* arrays, double* scalars, double factor, i64 begin, i64 end, i8 zero)
///       for i in [begin, end): runs the rule on element i, with grad = factor · the array's; writes param
///       and the states, and 0 to the gradient where `zero` is not 0.
///   double norm_<j>(ptr* arrays, double* scalars, double factor, i64 begin, i64 end)
///       Σ x² in FP64 over the elements, x the argument of the split's j-th norm. Eight lanes and a fixed
///       tree: the result depends on `begin` and `end` alone.
void emit_host(llvm::Module& module, const Split& split, const plan::UpdateRule& rule, Element element);

/// The device's `update`: thread t of T takes the elements t, t + T, t + 2T … of n. In an NVPTX module it is
/// a kernel
///   update(ptr param, ptr grad, ptr states…, double scalars…, double factor, i64 n, i8 zero)
/// that asks the device for t and T. In any other module they are two more arguments (i64 thread, i64
/// threads), so that the same arithmetic can be run thread by thread on a host.
void emit_device(llvm::Module& module, const Split& split, const plan::UpdateRule& rule, Element element);

/// For a module with such an `update` and no device: a function of fixed shape that calls it,
///   void update_thread(ptr* arrays, double* scalars, double factor, i64 n, i8 zero, i64 thread, i64 threads)
void emit_thread_call(llvm::Module& module, const Split& split, const plan::UpdateRule& rule,
                      Element element);

/// The first function in the loop over the elements that a device has only in its mathematics library; empty
/// if none.
std::string not_for_device(const Split& split);

}  // namespace loop::kernels
