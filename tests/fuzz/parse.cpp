#include "compiler/syntax/parser.h"

#include "compiler/ast/printer.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/targets.h"

namespace loop::fuzz {

void parse(std::string_view bytes) {
  Input input;
  const base::FileId file = input.sources.add("spec.loop", std::string(bytes));
  const syntax::ParseResult parsed = syntax::parse(input.sources, file, input.engine);
  ast::to_string(parsed.file);
  require(parsed.had_errors == input.engine.has_errors(), "a text has errors exactly when some are reported");
  uint32_t end = 0;
  for (const ast::ItemPtr& item : parsed.file.items) {
    require(item->span.begin >= end && item->span.begin <= item->span.end,
            "items come in the order of the text");
    end = item->span.end;
  }
  require(end <= bytes.size(), "items lie in the text");
  show(input);

  Input single;
  const base::FileId value = single.sources.add("--set key", std::string(bytes));
  const ast::ExprPtr expression = syntax::parse_expression(single.sources, value, single.engine);
  require((expression == nullptr) == single.engine.has_errors(), "an expression without errors has a tree");
  if (expression) ast::to_string(*expression);
  show(single);
}

}  // namespace loop::fuzz
