#include "compiler/sema/modules.h"

#include <algorithm>
#include <array>
#include <fstream>

#include "compiler/base/limits.h"
#include "compiler/base/text.h"
#include "compiler/sema/context.h"
#include "compiler/syntax/parser.h"

namespace loop::sema {

namespace fs = std::filesystem;
using diagnostics::Code;

namespace {

struct KindName {
  Definition::Kind kind;
  const char* keyword;
  const char* folder;  // of the standard library; null when it has none
};
constexpr std::array kKinds = {KindName{Definition::Kind::constant, "const", nullptr},
                               KindName{Definition::Kind::loop, "loop", nullptr},
                               KindName{Definition::Kind::recipe, "recipe", "recipes"},
                               KindName{Definition::Kind::optimizer, "optimizer", "optimizers"},
                               KindName{Definition::Kind::schedule, "schedule", "schedules"},
                               KindName{Definition::Kind::model, "model", "models"},
                               KindName{Definition::Kind::source, "source", "sources"},
                               KindName{Definition::Kind::loss, "loss", "losses"}};

const KindName* find_kind(const std::string& keyword) {
  for (const KindName& kind : kKinds)
    if (keyword == kind.keyword) return &kind;
  return nullptr;
}

const char* folder(Definition::Kind kind) {
  for (const KindName& entry : kKinds)
    if (entry.kind == kind) return entry.folder;
  return nullptr;
}

/// At most one byte more than the limit, which is enough for the parser to refuse the file.
std::optional<std::string> read_text(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string text;
  std::array<char, 65536> chunk;
  while (text.size() <= base::kMaxFileBytes && in) {
    in.read(chunk.data(), chunk.size());
    text.append(chunk.data(), static_cast<size_t>(in.gcount()));
  }
  if (in.bad()) return std::nullopt;
  return text;
}

bool is_inside(const fs::path& path, const fs::path& root) {
  auto [mismatch, end] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  return mismatch == root.end();
}

fs::path real_path(const fs::path& path) {
  std::error_code error;
  fs::path result = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? path.lexically_normal() : result;
}

fs::path import_root(const fs::path& folder) {
  std::error_code ignored;
  for (fs::path at = folder;; at = at.parent_path()) {
    if (fs::exists(at / "loop.toml", ignored)) return at;
    if (at == at.parent_path()) return folder;
  }
}

}  // namespace

const char* name(Definition::Kind kind) {
  for (const KindName& entry : kKinds)
    if (entry.kind == kind) return entry.keyword;
  return "";
}

Modules::Modules(base::SourceManager& sources, diagnostics::Engine& engine, fs::path stdlib_dir)
    : sources_(sources),
      engine_(engine),
      stdlib_dir_(std::move(stdlib_dir)),
      stdlib_root_(real_path(stdlib_dir_)) {}

const Module* Modules::load_root(const std::string& path, const std::optional<std::string>& text) {
  std::optional<std::string> content = text ? text : read_text(path);
  if (!content) {
    std::error_code ignored;
    const char* why = fs::is_directory(path, ignored) ? "it is a folder"
                      : fs::exists(path, ignored)     ? "it cannot be opened"
                                                      : "there is no such file";
    engine_.report(Code::L030, {}, {path, why});
    return nullptr;
  }
  fs::path absolute = real_path(path);
  spec_dir_ = absolute.parent_path();
  spec_root_ = import_root(spec_dir_);

  auto module = std::make_unique<Module>();
  module->path = absolute;
  module->shown_path = path;
  root_ = module.get();
  enter(std::move(module), std::move(*content));
  return root_;
}

Module* Modules::load(const fs::path& path, const std::string& shown, const std::string& dotted,
                      bool standard, Span use_span) {
  if (auto found = by_path_.find(path); found != by_path_.end()) {
    auto on_chain = std::find(loading_.begin(), loading_.end(), found->second);
    if (on_chain != loading_.end()) {
      std::string chain;
      for (auto at = on_chain; at != loading_.end(); ++at) chain += (*at)->shown_path + " → ";
      engine_.report(Code::L034, use_span, {chain + found->second->shown_path})
          .help("move what both files need into a third file that uses neither");
      return nullptr;
    }
    return found->second;
  }
  // What is found without `use` (no place) does not count.
  if (use_span && modules_.size() > base::kMaxImports) {
    if (!too_many_reported_) engine_.report(Code::L035, use_span, {std::to_string(base::kMaxImports)});
    too_many_reported_ = true;
    return nullptr;
  }
  std::optional<std::string> text = read_text(path);
  if (!text) {
    engine_.report(Code::L030, use_span, {shown, "it cannot be opened"});
    return nullptr;
  }
  auto module = std::make_unique<Module>();
  module->path = path;
  module->shown_path = shown;
  module->dotted = dotted;
  module->standard = standard;
  return enter(std::move(module), std::move(*text));
}

Module* Modules::enter(std::unique_ptr<Module> owned, std::string text) {
  Module* module = owned.get();
  const base::FileId id = sources_.add(module->shown_path, std::move(text));
  syntax::ParseResult parsed = syntax::parse(sources_, id, engine_);
  module->file = std::move(parsed.file);
  module->file.id = id;
  module->had_errors = parsed.had_errors;
  by_path_[module->path] = module;
  by_file_[id.value] = module;
  modules_.push_back(std::move(owned));
  collect(*module);
  resolve_uses(*module);
  return module;
}

void Modules::collect(Module& module) {
  std::vector<std::string> keywords = {"use"};
  for (const KindName& kind : kKinds) keywords.emplace_back(kind.keyword);

  for (const ast::ItemPtr& item : module.file.items) {
    if (std::holds_alternative<ast::Use>(item->node)) continue;
    const ast::Head* head = std::get_if<ast::Head>(&item->node);
    if (!head) {
      engine_.report(Code::L046, item->span, {"when"})
          .help("a condition stands in `micro { … }` or `update { … }`");
      continue;
    }
    const KindName* kind = find_kind(head->keyword.text);
    if (!kind) {
      auto& finding = engine_.report(Code::L046, head->keyword.span, {head->keyword.text});
      if (auto near = base::nearest(head->keyword.text, keywords)) {
        finding.help("did you mean `" + *near + "`?");
        finding.fix(spelling(head->keyword.span, head->keyword.text, *near, keywords));
      } else {
        finding.help(
            "a file consists of `use`, `const`, `loop`, `recipe`, `optimizer` and `schedule`; everything "
            "else stands in `loop NAME { … }`");
      }
      continue;
    }
    if (!head->name) {
      engine_.report(Code::L047, head->keyword.span, {head->keyword.text});
      continue;
    }
    Definition definition{kind->kind,
                          head->name->text,
                          module.standard ? module.dotted : head->name->text,
                          module.standard,
                          item,
                          head,
                          module.file.id};
    auto [at, inserted] = module.definitions.emplace(head->name->text, definition);
    if (!inserted) {
      engine_.report(Code::L036, head->name->span, {head->name->text})
          .with_label("defined again here")
          .also(at->second.head->name->span, "first defined here");
    }
  }
}

void Modules::resolve_uses(Module& module) {
  loading_.push_back(&module);
  for (const ast::ItemPtr& item : module.file.items)
    if (const auto* use = std::get_if<ast::Use>(&item->node)) resolve_use(module, *use, item->span);
  loading_.pop_back();
}

void Modules::resolve_use(Module& module, const ast::Use& use, Span span) {
  if (use.path.parts.empty()) return;
  std::vector<std::string> parts;
  for (const ast::Name& part : use.path.parts) parts.push_back(part.text);

  bool from_standard = use.dots == 0;
  fs::path folder;
  fs::path shown_folder;
  std::string dotted;
  if (from_standard) {
    if (parts.front() != "std") {
      auto& finding = engine_.report(Code::L031, use.path.span, {use.path.dotted()});
      finding.help(
          "a path starts with `std.` for the standard library, or with a dot for a file beside this one");
      finding.fix({"look beside this file",
                   diagnostics::Certainty::likely,
                   {{{use.path.span.file, use.path.span.begin, use.path.span.begin}, "."}}});
      return;
    }
    parts.erase(parts.begin());
    folder = stdlib_root_;
    shown_folder = stdlib_dir_;
    dotted = "std";
  } else {
    folder = module.path.parent_path();
    shown_folder = fs::path(module.shown_path).parent_path();
    for (int up = 1; up < use.dots; ++up) {
      folder = folder.parent_path();
      shown_folder /= "..";
    }
  }
  const fs::path& root = from_standard || module.standard ? stdlib_root_ : spec_root_;
  if (parts.empty()) {
    engine_.report(Code::L031, use.path.span, {"std"})
        .help("name what is wanted, such as `use std.optimizers.adamw`");
    return;
  }

  // The whole path names a file, or all but its last part do and the last is one definition in it.
  for (size_t drop = 0; drop <= 1 && drop < parts.size(); ++drop) {
    fs::path relative;
    std::string module_name = dotted;
    for (size_t i = 0; i + drop < parts.size(); ++i) {
      relative /= parts[i];
      module_name += (module_name.empty() ? "" : ".") + parts[i];
    }
    relative += ".loop";
    std::error_code ignored;
    fs::path target = real_path(folder / relative);
    bool inside = is_inside(target, root);
    if (!inside && (drop == 1 || fs::exists(folder / relative, ignored) || parts.size() == 1)) {
      engine_.report(Code::L033, span, {(shown_folder / relative).lexically_normal().string(), root.string()})
          .help("keep the file below that folder, or put a `loop.toml` into the folder that holds both");
      return;
    }
    if (!fs::is_regular_file(target, ignored)) continue;
    std::string shown = (shown_folder / relative).lexically_normal().string();
    bool standard = is_inside(target, stdlib_root_);
    Module* loaded = load(target, shown, standard ? module_name : "", standard, span);
    if (!loaded) return;
    if (drop == 0) {
      import_all(module, *loaded, parts.back(), span);
      return;
    }
    auto found = loaded->definitions.find(parts.back());
    if (found == loaded->definitions.end()) {
      if (loaded->had_errors) return;
      std::vector<std::string> names;
      for (const auto& [defined, definition] : loaded->definitions) names.push_back(defined);
      auto& finding =
          engine_.report(Code::L032, use.path.parts.back().span, {parts.back(), loaded->shown_path});
      if (auto near = base::nearest(parts.back(), names)) {
        finding.help("did you mean `" + *near + "`?");
        finding.fix(spelling(use.path.parts.back().span, parts.back(), *near, names));
      } else if (!names.empty()) {
        finding.help("it defines " + base::enumerate(names, " and "));
      }
      return;
    }
    import_name(module, parts.back(), found->second, span);
    return;
  }

  // Nothing was found: what stands in that folder is the best suggestion.
  fs::path missing;
  for (const std::string& part : parts) missing /= part;
  auto& finding = engine_.report(Code::L031, use.path.span,
                                 {std::string(static_cast<size_t>(use.dots), '.') + use.path.dotted()});
  finding.note("looked for " + (shown_folder / missing).lexically_normal().string() + ".loop");
  std::vector<std::string> siblings;
  std::error_code error;
  for (fs::directory_iterator at(folder / missing.parent_path(), error), end; !error && at != end;
       at.increment(error))
    if (at->path().extension() == ".loop") siblings.push_back(at->path().stem().string());
  std::sort(siblings.begin(), siblings.end());
  if (auto near = base::nearest(parts.back(), siblings)) {
    finding.help("did you mean `" + *near + "`?");
    finding.fix(spelling(use.path.parts.back().span, parts.back(), *near, siblings));
  } else if (from_standard && !siblings.empty()) {
    finding.help("there are " + base::enumerate(siblings, " and "));
  }
}

void Modules::import_all(Module& module, const Module& from, const std::string& last, Span span) {
  for (const auto& [defined, definition] : from.definitions) {
    import_name(module, defined, definition, span);
    module.imports.emplace(last + "." + defined, Module::Import{&definition, span});
  }
}

void Modules::import_name(Module& module, const std::string& visible, const Definition& definition,
                          Span span) {
  auto [at, inserted] = module.imports.emplace(visible, Module::Import{&definition, span});
  if (!inserted && at->second.definition != &definition) {
    engine_.report(Code::L036, span, {visible})
        .with_label("brought in again here")
        .also(at->second.use_span, "first brought in here");
    return;
  }
  auto own = module.definitions.find(visible);
  if (own != module.definitions.end()) {
    engine_.report(Code::L036, own->second.head->name->span, {visible})
        .with_label("defined here")
        .also(span, "also brought in here");
  }
}

const Module* Modules::module_of(base::FileId file) const {
  if (auto alias = aliases_.find(file.value); alias != aliases_.end()) file = alias->second;
  auto found = by_file_.find(file.value);
  return found == by_file_.end() ? nullptr : found->second;
}

const Definition* Modules::find(const std::string& name, base::FileId file) const {
  const Module* module = module_of(file);
  if (!module) return nullptr;
  if (auto own = module->definitions.find(name); own != module->definitions.end()) return &own->second;
  if (auto import = module->imports.find(name); import != module->imports.end())
    return import->second.definition;
  return nullptr;
}

const Definition* Modules::find_standard(Definition::Kind kind, const std::string& wanted) {
  const std::vector<std::string>& names = standard_names(kind);
  if (std::find(names.begin(), names.end(), wanted) == names.end()) return nullptr;
  fs::path relative = fs::path(folder(kind)) / (wanted + ".loop");
  std::string dotted = std::string("std.") + folder(kind) + "." + wanted;
  Module* module =
      load(real_path(stdlib_root_ / relative), (stdlib_dir_ / relative).string(), dotted, true, {});
  if (!module) return nullptr;
  auto found = module->definitions.find(wanted);
  return found == module->definitions.end() ? nullptr : &found->second;
}

const std::vector<std::string>& Modules::standard_names(Definition::Kind kind) {
  auto [at, inserted] = standard_names_.emplace(kind, std::vector<std::string>{});
  if (!inserted || !folder(kind)) return at->second;
  std::error_code error;
  for (fs::directory_iterator file(stdlib_root_ / folder(kind), error), end; !error && file != end;
       file.increment(error))
    if (file->path().extension() == ".loop") at->second.push_back(file->path().stem().string());
  std::sort(at->second.begin(), at->second.end());
  return at->second;
}

std::vector<std::string> Modules::visible_names(Definition::Kind kind, base::FileId file) const {
  std::vector<std::string> names;
  const Module* module = module_of(file);
  if (!module) return names;
  for (const auto& [visible, definition] : module->definitions)
    if (definition.kind == kind) names.push_back(visible);
  for (const auto& [visible, import] : module->imports)
    if (import.definition->kind == kind && visible.find('.') == std::string::npos) names.push_back(visible);
  return names;
}

std::vector<const Module*> Modules::all() const {
  std::vector<const Module*> result;
  for (const auto& module : modules_) result.push_back(module.get());
  return result;
}

diagnostics::Edit Modules::use_edit(base::FileId file, const std::string& path) const {
  const Module* module = module_of(file);
  const ast::Item* last_use = nullptr;
  for (const ast::ItemPtr& item : module->file.items)
    if (std::holds_alternative<ast::Use>(item->node)) last_use = item.get();
  if (last_use) {
    // Behind a comment on its line.
    const std::string& text = sources_.file(module->file.id).text();
    const size_t newline = std::min(text.find('\n', last_use->span.end), text.size());
    const size_t next = text.find_first_not_of(" \t\r", last_use->span.end);
    const bool alone = next >= newline || text[next] == '#';
    const auto at = alone ? static_cast<uint32_t>(newline) : last_use->span.end;
    return {{module->file.id, at, at}, "\nuse " + path};
  }
  uint32_t begin = module->file.items.empty() ? 0 : module->file.items.front()->span.begin;
  return {{module->file.id, begin, begin}, "use " + path + "\n\n"};
}

}  // namespace loop::sema
