#include "compiler/kernels/compiled_rule.h"

#include <llvm-c/Core.h>

#include <limits>
#include <map>
#include <mutex>
#include <stdexcept>

#include "compiler/kernels/llvm/target.h"

namespace loop::kernels {
namespace {

using Update = void (*)(void* const* arrays, const double* scalars, double factor, int64_t begin, int64_t end,
                        uint8_t zero);
using Norm = double (*)(void* const* arrays, const double* scalars, double factor, int64_t begin,
                        int64_t end);

struct NewModule {
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module;
  explicit NewModule(const std::string& name) : module(std::make_unique<llvm::Module>(name, *context)) {}
};

NewModule host_module(const Split& split, const plan::UpdateRule& rule, Element element) {
  NewModule made(rule.name);
  emit_host(*made.module, split, rule, element);
  const std::unique_ptr<llvm::TargetMachine> machine = host_machine();
  optimise(*made.module, *machine);
  return made;
}

std::unique_ptr<llvm::orc::LLJIT> load(NewModule made) {
  std::unique_ptr<llvm::orc::LLJIT> jit = make_jit();
  expect(jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(made.module), std::move(made.context))));
  return jit;
}

/// What the cache tells rules apart by: everything that the code depends on.
std::string content(const plan::UpdateRule& rule, Element element) {
  std::string text = element == Element::f32 ? "f32" : "f64";
  for (const std::string& name : rule.hyper) text += "\nhyper " + name;
  for (const std::string& name : rule.states) text += "\nstate " + name;
  for (const plan::UpdateRule::Statement& statement : rule.statements) {
    const bool let = statement.kind == plan::UpdateRule::Statement::Kind::let;
    text += "\n" + statement.target + (let ? " = " : " <- ") + plan::to_text(statement.value);
  }
  return text;
}

}  // namespace

struct CompiledRule::Code {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  Update update = nullptr;
  std::vector<Norm> norms;
};

CompiledRule::CompiledRule(plan::UpdateRule rule, Element element)
    : rule_(std::move(rule)), split_(split(rule_)), code_(std::make_unique<Code>()) {
  code_->jit = load(host_module(split_, rule_, element));
  code_->update = expect(code_->jit->lookup("update")).toPtr<Update>();
  for (size_t j = 0; j < split_.norms.size(); ++j) {
    norms_.push_back(norm_name(split_.norms[j].of));
    code_->norms.push_back(expect(code_->jit->lookup("norm_" + std::to_string(j))).toPtr<Norm>());
  }
}

CompiledRule::~CompiledRule() = default;

std::shared_ptr<const CompiledRule> CompiledRule::compile(const plan::UpdateRule& rule, Element element) {
  return std::shared_ptr<const CompiledRule>(new CompiledRule(rule, element));
}

std::vector<double> CompiledRule::scalars(const plan::Lookup& lookup) const {
  std::vector<double> values;
  const plan::Lookup with_slots = [&](std::string_view name) -> std::optional<double> {
    const int slot = slot_of(std::string(name));
    if (slot >= 0) return values.at(static_cast<size_t>(slot));
    return lookup(name);
  };
  for (const plan::Expression& scalar : split_.scalars)
    values.push_back(plan::evaluate(scalar, with_slots).value_or(std::numeric_limits<double>::quiet_NaN()));
  return values;
}

double CompiledRule::sum_of_squares(size_t norm, const Arrays& arrays, std::span<const double> scalars,
                                    double factor, int64_t begin, int64_t end) const {
  return code_->norms.at(norm)(arrays.data(), scalars.data(), factor, begin, end);
}

void CompiledRule::update(const Arrays& arrays, std::span<const double> scalars, double factor, int64_t begin,
                          int64_t end, bool zero) const {
  code_->update(arrays.data(), scalars.data(), factor, begin, end, zero ? 1 : 0);
}

std::shared_ptr<const CompiledRule> cached_rule(const plan::UpdateRule& rule, Element element) {
  static std::mutex lock;
  static std::map<std::string, std::shared_ptr<const CompiledRule>> known;
  const std::lock_guard guard(lock);
  std::shared_ptr<const CompiledRule>& entry = known[content(rule, element)];
  if (!entry) entry = CompiledRule::compile(rule, element);
  return entry;
}

plan::RuleCompiler rule_compiler() {
  return [](const plan::UpdateRule& rule, plan::Dtype element) -> std::shared_ptr<const plan::RuleKernel> {
    return cached_rule(rule, element == plan::Dtype::fp64 ? Element::f64 : Element::f32);
  };
}

std::string llvm_version() {
  unsigned major = 0, minor = 0, patch = 0;
  LLVMGetVersion(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

std::string to_ptx(const plan::UpdateRule& rule, Element element, int major, int minor) {
  const Split parts = split(rule);
  if (const std::string function = not_for_device(parts); !function.empty())
    throw std::invalid_argument("update rule " + rule.name + ": `" + function +
                                "` of every element has no device code");
  NewModule made(rule.name);
  const std::unique_ptr<llvm::TargetMachine> machine = device_machine(major, minor);
  made.module->setTargetTriple(machine->getTargetTriple().str());
  emit_device(*made.module, parts, rule, element);
  optimise(*made.module, *machine);
  return assembly(*made.module, *machine);
}

void run_device_code(const plan::UpdateRule& rule, Element element, const Arrays& arrays,
                     std::span<const double> scalars, double factor, int64_t elements, bool zero,
                     int64_t threads) {
  const Split parts = split(rule);
  NewModule made(rule.name);
  emit_device(*made.module, parts, rule, element);
  // A thread's arguments differ in number from rule to rule: a frame of fixed shape calls it.
  emit_thread_call(*made.module, parts, rule, element);
  const std::unique_ptr<llvm::TargetMachine> machine = host_machine();
  optimise(*made.module, *machine);
  const std::unique_ptr<llvm::orc::LLJIT> jit = load(std::move(made));
  using Thread = void (*)(void* const* arrays, const double* scalars, double factor, int64_t n, uint8_t zero,
                          int64_t thread, int64_t threads);
  const Thread run = expect(jit->lookup("update_thread")).toPtr<Thread>();
  for (int64_t thread = 0; thread < threads; ++thread)
    run(arrays.data(), scalars.data(), factor, elements, zero ? 1 : 0, thread, threads);
}

std::string optimised_ir(const plan::UpdateRule& rule, Element element) {
  const NewModule made = host_module(split(rule), rule, element);
  std::string text;
  llvm::raw_string_ostream out(text);
  made.module->print(out, nullptr);
  return text;
}

}  // namespace loop::kernels
