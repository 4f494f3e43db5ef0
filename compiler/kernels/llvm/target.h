// LLVM's targets and optimiser: for this host and for NVIDIA devices.
#pragma once

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

namespace loop::kernels {

/// A JIT for this processor with its name and features.
std::unique_ptr<llvm::orc::LLJIT> make_jit();
std::unique_ptr<llvm::TargetMachine> host_machine();
/// For compute capability `major`.`minor`.
std::unique_ptr<llvm::TargetMachine> device_machine(int major, int minor);

/// Gives the module the machine's triple, layout and, per function, processor and features; then runs the
/// whole optimiser. Throws std::runtime_error for a module that is not well-formed.
void optimise(llvm::Module& module, llvm::TargetMachine& machine);

/// The machine's assembly text.
std::string assembly(llvm::Module& module, llvm::TargetMachine& machine);

/// The value, or std::runtime_error with LLVM's message.
template <class T>
T expect(llvm::Expected<T> value);
void expect(llvm::Error error);

}  // namespace loop::kernels

template <class T>
T loop::kernels::expect(llvm::Expected<T> value) {
  if (!value) expect(value.takeError());
  return std::move(*value);
}
