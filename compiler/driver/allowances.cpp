#include "compiler/driver/allowances.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "compiler/base/text.h"
#include "compiler/driver/allowance_comment.h"
#include "compiler/syntax/parser.h"

namespace loop::driver {
namespace {

using base::Span;
using diagnostics::Code;

const ast::Block* block_of(const ast::Item& item) {
  if (const auto* when = std::get_if<ast::When>(&item.node)) return &when->body;
  const auto* head = std::get_if<ast::Head>(&item.node);
  return head != nullptr && head->block ? &*head->block : nullptr;
}

bool contains(Span span, uint32_t offset) {
  return span.begin <= offset && offset < span.end;
}

/// What the comments of one file reach.
class Scopes {
 public:
  Scopes(const base::SourceFile& source, const ast::File& file) : source_(source), file_(file) {}

  Span whole_file() const { return {file_.id, 0, std::numeric_limits<uint32_t>::max()}; }
  bool before_all_statements(const ast::Comment& comment) const {
    return file_.items.empty() || comment.span.begin < file_.items.front()->span.begin;
  }

  /// The statement after a comment on a line of its own; the next line within an expression; nothing before a
  /// closing brace.
  std::optional<Span> following(const ast::Comment& comment) const {
    const uint32_t at = comment.span.begin;
    const std::vector<ast::ItemPtr>* items = &file_.items;
    while (true) {
      const auto around = std::find_if(items->begin(), items->end(),
                                       [&](const ast::ItemPtr& item) { return contains(item->span, at); });
      if (around == items->end()) break;
      const ast::Block* block = block_of(**around);
      if (block == nullptr || !contains(block->span, at)) return line(source_.position(at).line + 1);
      items = &block->items;
    }
    const auto next = std::find_if(items->begin(), items->end(),
                                   [&](const ast::ItemPtr& item) { return item->span.begin > at; });
    if (next == items->end()) return std::nullopt;
    return (*next)->span;
  }

  /// The comment's own line, and the statements that begin or end on it.
  std::vector<Span> beside(const ast::Comment& comment) const {
    const uint32_t own = source_.position(comment.span.begin).line;
    std::vector<Span> scopes = {line(own)};
    collect(file_.items, own, scopes);
    return scopes;
  }

 private:
  Span line(uint32_t number) const {
    const std::string_view text = source_.line(number);
    const auto begin = static_cast<uint32_t>(text.data() - source_.text().data());
    return {file_.id, begin, begin + static_cast<uint32_t>(text.size())};
  }

  void collect(const std::vector<ast::ItemPtr>& items, uint32_t own, std::vector<Span>& scopes) const {
    for (const ast::ItemPtr& item : items) {
      const uint32_t first = source_.position(item->span.begin).line;
      const uint32_t last = source_.position(std::max(item->span.begin + 1, item->span.end) - 1).line;
      if (own < first || own > last) continue;
      if (own == first || own == last) scopes.push_back(item->span);
      if (const ast::Block* block = block_of(*item)) collect(block->items, own, scopes);
    }
  }

  const base::SourceFile& source_;
  const ast::File& file_;
};

const diagnostics::CatalogEntry* known(const AllowanceComment::Name& name, Span place,
                                       diagnostics::Engine& engine) {
  if (const auto* entry = diagnostics::find(name.text)) return entry;
  auto& finding = engine.report(Code::L022, place, {name.text});
  std::vector<std::string> words;
  for (const diagnostics::CatalogEntry& entry : diagnostics::catalog()) {
    words.emplace_back(entry.id);
    words.emplace_back(entry.name);
  }
  if (const auto near = base::nearest(name.text, words)) finding.help("did you mean `" + *near + "`?");
  finding.note("`loopc explain` lists all findings");
  return nullptr;
}

std::string title(const diagnostics::CatalogEntry& entry) {
  return std::string(entry.id) + " " + std::string(entry.name);
}

uint32_t reach(const Allowance& allowance) {
  uint32_t bytes = 0;
  for (const Span& scope : allowance.scopes) bytes = std::max(bytes, scope.end - scope.begin);
  return bytes;
}

bool covers(const Allowance& allowance, Span place) {
  return std::any_of(allowance.scopes.begin(), allowance.scopes.end(), [&](const Span& scope) {
    // A finding about the run as a whole has no place: it belongs to the file.
    if (!place) return scope.end == std::numeric_limits<uint32_t>::max();
    return place.file == scope.file && (contains(scope, place.begin) || place.begin == scope.begin);
  });
}

}  // namespace

std::string why_not_allowable(const diagnostics::CatalogEntry& entry) {
  if (entry.id >= "L020" && entry.id <= "L029") return "it is about allowances themselves";
  if (!diagnostics::is_about_meaning(entry.code) && entry.severity == diagnostics::Severity::error)
    return "while it stands, the spec has no meaning";
  if (entry.id >= "L990") return "a run cannot do what it needs";
  return "";
}

std::vector<Allowance> read_allowances(const base::SourceManager& sources, base::FileId file,
                                       diagnostics::Engine& engine) {
  const base::SourceFile& source = sources.file(file);
  // Most texts have none, and are not read again.
  if (source.text().find("loop:") == std::string::npos && source.text().find("loop :") == std::string::npos)
    return {};
  diagnostics::Engine already_reported;
  const ast::File tree = syntax::parse(sources, file, already_reported).file;
  const Scopes scopes(source, tree);
  std::vector<Allowance> allowances;
  for (const ast::Comment& comment : tree.comments) {
    const auto written = read_allowance_comment(sources.text(comment.span));
    if (!written) continue;
    std::string fault = written->fault;
    std::vector<Span> reached;
    if (written->whole_file) {
      reached = {scopes.whole_file()};
      if (fault.empty() && !scopes.before_all_statements(comment))
        fault = "`allow-file` stands before the first statement of the file";
    } else if (comment.own_line) {
      if (const auto next = scopes.following(comment)) reached = {*next};
      if (fault.empty() && reached.empty()) fault = "no statement follows it";
    } else {
      reached = scopes.beside(comment);
    }
    if (!fault.empty()) {
      engine.report(Code::L020, comment.span, {fault})
          .help("an allowance is written `# loop: allow(L204, reason: \"…\")`");
      continue;
    }
    const bool reasonless =
        !written->reason || written->reason->find_first_not_of(" \t") == std::string::npos;
    if (reasonless) {
      engine.report(Code::L021, comment.span)
          .help("say why it is right here: `# loop: allow(" + written->names.front().text +
                ", reason: \"…\")`");
    }
    for (const AllowanceComment::Name& name : written->names) {
      const uint32_t begin = comment.span.begin + name.at;
      const Span place{file, begin, begin + static_cast<uint32_t>(name.text.size())};
      const diagnostics::CatalogEntry* entry = known(name, place, engine);
      if (entry == nullptr || reasonless) continue;
      const std::string why_not = why_not_allowable(*entry);
      if (!why_not.empty()) {
        engine.report(Code::L024, place, {title(*entry), why_not});
        continue;
      }
      allowances.push_back({entry->code, *written->reason, place, reached, false});
    }
  }
  return allowances;
}

const Allowance* allowance_for(std::vector<Allowance>& allowances, const diagnostics::Diagnostic& finding) {
  Allowance* nearest = nullptr;
  for (Allowance& allowance : allowances) {
    if (allowance.code != finding.code || !covers(allowance, finding.span)) continue;
    if (nearest == nullptr || reach(allowance) < reach(*nearest)) nearest = &allowance;
  }
  if (nearest != nullptr) nearest->used = true;
  return nearest;
}

void report_unused(const std::vector<Allowance>& allowances, base::FileId file, diagnostics::Engine& engine) {
  for (const Allowance& allowance : allowances) {
    if (allowance.used || allowance.span.file != file) continue;
    engine.report(Code::L023, allowance.span, {title(diagnostics::entry(allowance.code))})
        .help("delete it: what it was for is gone");
  }
}

void log_allowed_errors(std::ostream& out, const base::SourceManager& sources,
                        const std::vector<diagnostics::Allowed>& allowed) {
  for (const diagnostics::Allowed& one : allowed) {
    if (one.finding.severity != diagnostics::Severity::error) continue;
    out << "allowed: " << title(diagnostics::entry(one.finding.code));
    if (sources.contains(one.finding.span.file)) {
      const base::SourceFile& file = sources.file(one.finding.span.file);
      out << " at " << file.path() << ':' << file.position(one.finding.span.begin).line;
    }
    out << " (" << one.reason << ")\n";
  }
}

}  // namespace loop::driver
