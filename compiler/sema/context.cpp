#include "compiler/sema/context.h"

#include "compiler/base/text.h"

namespace loop::sema {

void suggest(diagnostics::Diagnostic& finding, Span place, const std::string& written,
             const std::vector<std::string>& candidates, bool list) {
  constexpr size_t kFew = 12;
  if (auto near = base::nearest(written, candidates)) {
    finding.help("did you mean `" + *near + "`?");
    finding.fix(spelling(place, written, *near, candidates));
  } else if (list && !candidates.empty() && candidates.size() <= kFew) {
    std::vector<std::string> quoted;
    for (const std::string& candidate : candidates) quoted.push_back("`" + candidate + "`");
    finding.help("there " + std::string(quoted.size() == 1 ? "is " : "are ") +
                 base::enumerate(quoted, " and "));
  }
}

diagnostics::FixIt spelling(Span place, const std::string& written, const std::string& near,
                            const std::vector<std::string>& candidates) {
  constexpr size_t kLong = 6;
  const size_t distance = base::edit_distance(written, near);
  bool alone = distance == 1 || (distance == 2 && written.size() >= kLong);
  for (const std::string& candidate : candidates) {
    if (candidate != near && base::edit_distance(written, candidate) <= distance) alone = false;
  }
  return {"write `" + near + "`",
          alone ? diagnostics::Certainty::certain : diagnostics::Certainty::likely,
          {{place, near}}};
}

ast::ExprPtr constant_value(Context& context, const std::string& name, base::FileId file) {
  const Definition* definition = context.modules.find(name, file);
  if (!definition || definition->kind != Definition::Kind::constant) return nullptr;
  return definition->head->value;
}

}  // namespace loop::sema
