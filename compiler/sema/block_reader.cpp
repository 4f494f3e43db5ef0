#include "compiler/sema/block_reader.h"

#include <algorithm>

#include "compiler/base/text.h"

namespace loop::sema {

using diagnostics::Code;

Span head_span(const ast::Head& head) {
  Span span = head.keyword.span;
  if (head.name) span = base::join(span, head.name->span);
  return span;
}

BlockReader::BlockReader(Context& context, const BlockTable& table, const std::vector<ast::ItemPtr>& items,
                         Span place)
    : context_(context), table_(table), place_(place) {
  for (const ast::ItemPtr& item : items) read(item);
}

void BlockReader::read(const ast::ItemPtr& item) {
  const auto* head = std::get_if<ast::Head>(&item->node);
  if (!head) {
    bool is_use = std::holds_alternative<ast::Use>(item->node);
    context_.engine.report(Code::L042, item->span,
                           {is_use ? "use" : "when", std::string(table_.name),
                            is_use ? "at the top of the file" : "`micro` or `update`"});
    return;
  }
  const std::string& keyword = head->keyword.text;
  const Key* key = find_key(table_, keyword);
  if (!key) {
    if (table_.free_names && !head->name && !head->block) {
      auto [same, inserted] = free_by_name_.emplace(keyword, head);
      if (!inserted) {
        context_.engine.report(Code::L041, head->keyword.span, {keyword, std::string(table_.name)})
            .with_label("written again here")
            .also(same->second->keyword.span, "first written here");
        return;
      }
      free_names_.push_back(head);
      return;
    }
    unknown(*head);
    return;
  }
  if (key->form == Form::later) {
    context_.engine.report(Code::L045, head->keyword.span, {keyword, std::string(key->meaning)});
    return;
  }
  if (!check_form(*head, *key)) {
    misspelt_.push_back(keyword);
    return;
  }
  const ast::Head* earlier = nullptr;
  if (head->name) {
    auto [at, inserted] = named_by_name_.emplace(std::pair(keyword, head->name->text), head);
    if (inserted) named_[keyword].push_back(head);
    if (!inserted) earlier = at->second;
  } else {
    auto [at, inserted] = single_.emplace(keyword, head);
    if (!inserted) earlier = at->second;
  }
  if (earlier) {
    std::string written = head->name ? keyword + " " + head->name->text : keyword;
    context_.engine.report(Code::L041, head_span(*head), {written, std::string(table_.name)})
        .with_label("written again here")
        .also(head_span(*earlier), "first written here");
  }
}

void BlockReader::unknown(const ast::Head& head) {
  const std::string& keyword = head.keyword.text;
  std::vector<std::string> candidates = key_names(table_);
  auto near = base::nearest(keyword, candidates);
  if (!near) {
    for (const BlockTable* other : block_tables()) {
      if (other == &table_) continue;
      const Key* key = find_key(*other, keyword);
      if (!key || key->form == Form::later) continue;
      std::string place = other == &loop_table() ? "the loop itself" : "`" + std::string(other->name) + "`";
      context_.engine.report(Code::L042, head.keyword.span, {keyword, std::string(table_.name), place});
      misspelt_.push_back(keyword);
      return;
    }
    for (const Key& key : table_.keys) {
      if (key.form != Form::later || !base::nearest(keyword, {std::string(key.name)})) continue;
      near = std::string(key.name);
    }
  }
  auto& finding = context_.engine.report(Code::L040, head.keyword.span, {keyword, std::string(table_.name)});
  if (near) {
    finding.help("did you mean `" + *near + "`?");
    finding.fix(spelling(head.keyword.span, keyword, *near, candidates));
    misspelt_.push_back(*near);
  } else if (!candidates.empty()) {
    finding.help("`" + std::string(table_.name) + "` has " + base::enumerate(candidates, " and "));
  }
}

bool BlockReader::check_form(const ast::Head& head, const Key& key) {
  auto refuse = [&](const std::string& how) {
    context_.engine.report(Code::L044, head_span(head), {std::string(key.name), how, std::string(key.takes)});
    return false;
  };
  std::string name(key.name);
  bool has_value = head.assign == ast::Assign::equals;
  if (head.assign == ast::Assign::arrow) return refuse("`" + name + " = …`, with `=`");
  if (head.args || head.extends)
    return refuse(key.form == Form::block ? "`" + name + " { … }`" : "`" + name + " = …`");
  switch (key.form) {
    case Form::value:
      if (head.name || head.block || !has_value) return refuse("`" + name + " = …`");
      break;
    case Form::block:
      if (head.name || has_value || !head.block) return refuse("`" + name + " { … }`");
      break;
    case Form::value_or_block:
      if (head.name || has_value == head.block.has_value())
        return refuse("`" + name + " = …` or `" + name + " { … }`");
      break;
    case Form::named_block:
      if (!head.name || has_value || !head.block) return refuse("`" + name + " NAME { … }`");
      break;
    case Form::named_value:
      if (!head.name || head.block || !has_value) return refuse("`" + name + " NAME = …`");
      break;
    case Form::later:
      break;
  }
  for (const ast::Clause& clause : head.clauses) {
    if (name == "loss" && clause.kind == ast::ClauseKind::per) continue;
    context_.engine.report(
        Code::L044, clause.span,
        {name, "`" + name + (has_value ? " = …`" : " { … }`") + " without what follows here",
         std::string(key.takes)});
    return false;
  }
  return true;
}

const ast::Head* BlockReader::find(std::string_view key) const {
  auto found = single_.find(std::string(key));
  return found == single_.end() ? nullptr : found->second;
}

std::vector<const ast::Head*> BlockReader::named(std::string_view key) const {
  auto found = named_.find(std::string(key));
  return found == named_.end() ? std::vector<const ast::Head*>{} : found->second;
}

bool BlockReader::was_misspelt(std::string_view key) const {
  return std::find(misspelt_.begin(), misspelt_.end(), key) != misspelt_.end();
}

void BlockReader::missing(std::string_view key, const std::vector<std::string>& choices) const {
  if (was_misspelt(key)) return;
  const Key* entry = find_key(table_, key);
  auto& finding = context_.engine.report(Code::L043, place_, {std::string(key), std::string(table_.name)});
  if (entry)
    finding.help("`" + std::string(key) + "` takes " + std::string(entry->takes))
        .note(std::string(entry->meaning));
  for (const std::string& choice : choices) finding.help(choice);
}

}  // namespace loop::sema
