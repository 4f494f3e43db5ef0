#include "compiler/sema/context.h"

#include "compiler/base/text.h"

namespace loop::sema {

void suggest(diagnostics::Diagnostic& finding, Span place, const std::string& written,
             const std::vector<std::string>& candidates, bool list) {
  constexpr size_t kFew = 12;
  if (auto near = base::nearest(written, candidates)) {
    finding.help("did you mean `" + *near + "`?");
    finding.fix({"write `" + *near + "`", diagnostics::Certainty::likely, {{place, *near}}});
  } else if (list && !candidates.empty() && candidates.size() <= kFew) {
    std::vector<std::string> quoted;
    for (const std::string& candidate : candidates) quoted.push_back("`" + candidate + "`");
    finding.help("there " + std::string(quoted.size() == 1 ? "is " : "are ") +
                 base::enumerate(quoted, " and "));
  }
}

ast::ExprPtr constant_value(Context& context, const std::string& name, base::FileId file) {
  const Definition* definition = context.modules.find(name, file);
  if (!definition || definition->kind != Definition::Kind::constant) return nullptr;
  return definition->head->value;
}

}  // namespace loop::sema
