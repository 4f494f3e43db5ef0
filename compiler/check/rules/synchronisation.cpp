// Who owns synchronisation: `window.sync`, the `micro` block or `reduce`, and only one of them.
#include "compiler/check/rules/rules.h"

namespace loop::check {
namespace {

using diagnostics::Code;
using plan::OpKind;

void check_scopes(const std::vector<sema::Operation>& operations, const sema::Operation* outer, bool manual,
                  diagnostics::Engine& engine) {
  for (const sema::Operation& operation : operations) {
    const bool scope = operation.op.kind == OpKind::sync_on;
    if (scope && outer) {
      engine.report(Code::L211, operation.name_span)
          .also(outer->name_span, "the outer one")
          .help("delete one of them");
    } else if (scope && manual) {
      engine.report(Code::L212, operation.name_span)
          .help("delete it, or delete `sync = manual` and let it decide");
    }
    if (operation.op.kind == OpKind::reduce && !manual) {
      engine.report(Code::L207, operation.span).help("write `sync = manual` in `window`, or delete `reduce`");
    }
    check_scopes(operation.body, scope ? &operation : outer, manual, engine);
  }
}

}  // namespace

void check_synchronisation(const sema::Spec& spec, diagnostics::Engine& engine) {
  const auto& sync = spec.window.sync;
  const bool manual = sync.value == plan::Sync::manual;
  if (spec.micro.written && sync.written && !manual) {
    const char* word = sync.value == plan::Sync::every ? "every" : "last";
    engine.report(Code::L214, sync.span, {word})
        .also(spec.micro.span, "this block decides which micro-batches synchronise")
        .help(std::string("delete the key and write `sync_on(") + word +
              ") { … }` around `forward` and `backward`");
  }
  if (spec.micro.written) check_scopes(spec.micro.operations, nullptr, manual, engine);
  if (spec.update.written) check_scopes(spec.update.operations, nullptr, manual, engine);
  if (spec.window.compress.value != plan::Compression::none && spec.ranks.value != 1)
    engine.report(Code::L215, spec.window.compress.span)
        .note("bf16 keeps 8 bits: each number is off by up to 1 part in 256 before it is added")
        .help("`compress = none`, the default, keeps the gradient exact at twice the bytes");
}

}  // namespace loop::check
