// Keys and arguments that are written twice or in the wrong block, and choices where a key is missing.
#include <algorithm>

#include "compiler/fixes/makers.h"
#include "compiler/fixes/sequence.h"
#include "compiler/sema/keys.h"

namespace loop::fixes {
namespace {

const ast::Item* loop_item(const Subject& subject) {
  const Place& here = subject.here();
  return here.around.empty() ? here.item : here.around.front();
}

/// Each text as a choice of what `place` is to hold.
Fixes choices(const Subject& subject, const ast::Block& block, const std::vector<std::string>& statements) {
  Fixes fixes;
  for (const std::string& statement : statements) {
    Rewrite rewrite = subject.rewrite();
    rewrite.append(block, statement);
    fixes.push_back(likely("write `" + statement + "`", rewrite));
  }
  return fixes;
}

}  // namespace

Fixes delete_twin_key(const Subject& subject) {
  Fixes fixes;
  const ast::Item* other = nullptr;
  for (const diagnostics::Label& label : subject.finding.labels) {
    const Place place = subject.at(label.span);
    if (place && place.item != subject.here().item) other = place.item;
  }
  if (!other) return fixes;
  const bool alike = same_text(subject, *subject.here().item, *other);
  for (const ast::Item* item : {subject.here().item, other}) {
    Rewrite rewrite = subject.rewrite();
    rewrite.remove(*item);
    const std::string title =
        "delete the " + std::string(item == other ? "first" : "second") + " `" + word(*item) + "`";
    fixes.push_back(alike ? certain(title, rewrite) : likely(title, rewrite));
  }
  return fixes;
}

Fixes move_key(const Subject& subject) {
  const Place& here = subject.here();
  const std::string key = word(*here.item);
  if (key == "use" || key == "when" || here.around.empty()) return {};
  std::vector<const sema::BlockTable*> homes;
  for (const sema::BlockTable* table : sema::block_tables()) {
    const sema::Key* found = sema::find_key(*table, key);
    if (found && found->form != sema::Form::later) homes.push_back(table);
  }
  if (homes.size() != 1) return {};
  const ast::Item* loop = loop_item(subject);
  const std::string name(homes.front()->name);
  Rewrite rewrite = subject.rewrite();
  if (homes.front() == &sema::loop_table()) {
    rewrite.move_after(*here.item, *here.around.back());
    return {certain("move `" + key + "` into the loop itself", rewrite)};
  }
  if (const ast::Item* home = subject.part_item(name)) {
    const ast::Block& block = *body(*home);
    rewrite.move_to_end(*here.item, block);
  } else if (loop) {
    rewrite.replace(here.item->span, name + " { " + subject.source(here.item->span) + " }");
  }
  return {certain("move `" + key + "` into `" + name + "`", rewrite)};
}

Fixes delete_twin_argument(const Subject& subject) {
  // The finding is the second argument, or its name; the statement's text is searched for the comma before
  // it.
  const base::Span span = subject.finding.span;
  const std::string statement = subject.source(subject.here().item->span);
  const size_t begin = span.begin - subject.here().item->span.begin;
  size_t end = begin;
  int depth = 0;
  while (end < statement.size()) {
    const char c = statement[end];
    if (depth == 0 && (c == ',' || c == ')')) break;
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    ++end;
  }
  const size_t comma = statement.rfind(',', begin);
  if (comma == std::string::npos) return {};
  const auto squeezed = [](std::string text) {
    text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\n'; }),
               text.end());
    return text;
  };
  const std::string argument = squeezed(statement.substr(begin, end - begin));
  const std::string before = squeezed(statement.substr(0, comma + 1));
  const bool alike = before.find("(" + argument + ",") != std::string::npos ||
                     before.find("," + argument + ",") != std::string::npos;
  Rewrite rewrite = subject.rewrite();
  const uint32_t origin = subject.here().item->span.begin;
  rewrite.replace({span.file, origin + static_cast<uint32_t>(comma), origin + static_cast<uint32_t>(end)},
                  "");
  const std::string title = "delete the second `" + argument + "`";
  return {alike ? certain(title, rewrite) : likely(title, rewrite)};
}

Fixes delete_name(const Subject& subject) {
  const base::Span span = subject.finding.span;
  const ast::Item& item = *subject.here().item;
  const std::string statement = subject.source(item.span);
  const size_t comma = statement.rfind(',', span.begin - item.span.begin);
  if (comma == std::string::npos) return {};
  Rewrite rewrite = subject.rewrite();
  rewrite.replace({span.file, item.span.begin + static_cast<uint32_t>(comma), span.end}, "");
  return {certain("name `" + subject.source(span) + "` once", rewrite)};
}

Fixes choose_tail(const Subject& subject) {
  const ast::Head* window = subject.part("window");
  if (!window) return {};
  return choices(subject, *window->block, {"tail = flush", "tail = carry", "tail = drop"});
}

Fixes choose_unit(const Subject& subject) {
  Fixes fixes;
  const ast::Item& item = *subject.here().item;
  for (const char* unit : {"tokens", "samples"}) {
    Rewrite rewrite = subject.rewrite();
    rewrite.replace({item.span.file, item.span.end, item.span.end}, std::string(" per ") + unit);
    fixes.push_back(likely(std::string("count it `per ") + unit + "`", rewrite));
  }
  return fixes;
}

Fixes choose_batch_norm(const Subject& subject) {
  const ast::Item* loop = loop_item(subject);
  if (!loop || !body(*loop)) return {};
  return choices(subject, *body(*loop),
                 {"batch_norm = per_micro", "batch_norm = across_ranks", "batch_norm = frozen"});
}

Fixes choose_stop(const Subject& subject) {
  const ast::Item* loop = loop_item(subject);
  if (!loop || !body(*loop)) return {};
  return choices(subject, *body(*loop), {"stop = 1000 updates", "stop = 1 epochs"});
}

}  // namespace loop::fixes
