// Files and the names they define: `use`, the import roots, and which definition a name means in which file.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ast/ast.h"
#include "compiler/diagnostics/engine.h"

namespace loop::sema {

using base::Span;

/// A top-level definition of a file.
struct Definition {
  enum class Kind { constant, loop, recipe, optimizer, schedule, model, source, loss };
  Kind kind;
  std::string name;
  std::string
      qualified_name;  // "std.optimizers.adamw" for the standard library's, the plain name for a user's
  bool standard = false;
  ast::ItemPtr item;
  const ast::Head* head = nullptr;  // inside `item`
  base::FileId file;
};
const char* name(Definition::Kind kind);  // "loop", "optimizer", …

struct Module {
  ast::File file;
  std::filesystem::path path;  // canonical
  std::string shown_path;      // as in messages
  std::string dotted;          // "std.optimizers.adamw"; empty for a user's file
  bool standard = false;
  bool had_errors = false;
  std::map<std::string, Definition> definitions;
  struct Import {
    const Definition* definition;
    Span use_span;
  };
  std::map<std::string, Import> imports;  // by visible name: "adamw", "base.small"
};

/// Loads files once and resolves names by the file in which they are written.
class Modules {
 public:
  Modules(base::SourceManager& sources, diagnostics::Engine& engine, std::filesystem::path stdlib_dir);

  /// The spec itself with everything it uses. Null (reported) when it cannot be read.
  const Module* load_root(const std::string& path, const std::optional<std::string>& text);

  /// What `name` means in `file`: a definition of the file or an import. Null when neither.
  const Definition* find(const std::string& name, base::FileId file) const;
  /// Models, sources and losses of the standard library need no `use`: found by kind and name, loaded when
  /// first asked for.
  const Definition* find_standard(Definition::Kind kind, const std::string& name);
  /// Names of the standard library's definitions of a kind, without loading them.
  const std::vector<std::string>& standard_names(Definition::Kind kind);
  /// Names of a kind that are visible in `file`.
  std::vector<std::string> visible_names(Definition::Kind kind, base::FileId file) const;

  /// Text that came from elsewhere (an override) is read as if it stood in `host`.
  void alias(base::FileId file, base::FileId host) { aliases_[file.value] = host; }

  const Module& root() const { return *root_; }
  /// Every loaded file, root first.
  std::vector<const Module*> all() const;
  /// Folder that holds the spec (absolute).
  const std::filesystem::path& spec_dir() const { return spec_dir_; }
  /// The edit that adds `use <path>` to the file a name is written in.
  diagnostics::Edit use_edit(base::FileId file, const std::string& path) const;

 private:
  Module* load(const std::filesystem::path& path, const std::string& shown, const std::string& dotted,
               bool standard, Span use_span);
  /// Parses and registers a module, then everything it uses.
  Module* enter(std::unique_ptr<Module> owned, std::string text);
  void collect(Module& module);
  void resolve_uses(Module& module);
  void resolve_use(Module& module, const ast::Use& use, Span span);
  void import_all(Module& module, const Module& from, const std::string& last, Span span);
  void import_name(Module& module, const std::string& visible, const Definition& definition, Span span);
  const Module* module_of(base::FileId file) const;

  base::SourceManager& sources_;
  diagnostics::Engine& engine_;
  std::filesystem::path stdlib_dir_;
  std::filesystem::path stdlib_root_;  // canonical
  std::filesystem::path spec_dir_;
  std::filesystem::path spec_root_;  // canonical: nearest folder with a loop.toml, else the spec's folder
  std::vector<std::unique_ptr<Module>> modules_;
  std::map<std::filesystem::path, Module*> by_path_;
  std::map<uint32_t, Module*> by_file_;
  std::map<uint32_t, base::FileId> aliases_;
  std::map<Definition::Kind, std::vector<std::string>> standard_names_;
  std::vector<const Module*> loading_;  // chain of files being loaded, for cycles
  Module* root_ = nullptr;
  bool too_many_reported_ = false;
};

}  // namespace loop::sema
