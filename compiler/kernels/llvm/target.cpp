#include "compiler/kernels/llvm/target.h"

#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <mutex>
#include <stdexcept>

namespace loop::kernels {
namespace {

void initialize_host() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

void initialize_device() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

llvm::orc::JITTargetMachineBuilder host_builder() {
  initialize_host();
  llvm::orc::JITTargetMachineBuilder builder = expect(llvm::orc::JITTargetMachineBuilder::detectHost());
  builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Aggressive);
  return builder;
}

}  // namespace

void expect(llvm::Error error) {
  if (error) throw std::runtime_error("LLVM: " + llvm::toString(std::move(error)));
}

std::unique_ptr<llvm::orc::LLJIT> make_jit() {
  std::unique_ptr<llvm::orc::LLJIT> jit =
      expect(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(host_builder()).create());
  // exp, log, pow and the like are the process' own.
  jit->getMainJITDylib().addGenerator(expect(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      jit->getDataLayout().getGlobalPrefix())));
  return jit;
}

std::unique_ptr<llvm::TargetMachine> host_machine() {
  return expect(host_builder().createTargetMachine());
}

std::unique_ptr<llvm::TargetMachine> device_machine(int major, int minor) {
  initialize_device();
  const std::string triple = "nvptx64-nvidia-cuda";
  std::string why;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, why);
  if (!target) throw std::runtime_error("LLVM: " + why);
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, "sm_" + std::to_string(major) + std::to_string(minor), "", {},
                                  llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  module.setTargetTriple(machine.getTargetTriple().str());
  module.setDataLayout(machine.createDataLayout());
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
  }
  std::string fault;
  llvm::raw_string_ostream message(fault);
  if (llvm::verifyModule(module, &message)) throw std::runtime_error("LLVM: " + fault);

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(&machine);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

std::string assembly(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream out(text);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile))
    throw std::runtime_error("LLVM cannot write assembly for this target");
  passes.run(module);
  return text.str().str();
}

}  // namespace loop::kernels
