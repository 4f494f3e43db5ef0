#include "compiler/sema/analyze.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/base/text.h"
#include "compiler/sema/descriptors.h"
#include "compiler/sema/loop_reader.h"
#include "compiler/sema/print.h"
#include "compiler/sema/scheduling.h"
#include "compiler/sema/update_rules.h"
#include "runtime/plan/glob.h"
#include "runtime/plan/json.h"

namespace loop::sema {

namespace fs = std::filesystem;
using diagnostics::Code;

namespace {

std::vector<const Definition*> loops_in_order(const Module& module) {
  std::vector<const Definition*> loops;
  for (const auto& [name, definition] : module.definitions)
    if (definition.kind == Definition::Kind::loop) loops.push_back(&definition);
  std::sort(loops.begin(), loops.end(), [](const Definition* a, const Definition* b) {
    return a->item->span.begin < b->item->span.begin;
  });
  return loops;
}

/// Names of loops that another loop of the same file builds on.
std::set<std::string> bases_in(const Module& module) {
  std::set<std::string> bases;
  for (const auto& [name, definition] : module.definitions)
    if (definition.head->extends) bases.insert(definition.head->extends->dotted());
  return bases;
}

/// Definitions nobody uses are checked too: a mistake should not wait for its first user.
void check_definitions(Context& context, const Module& module) {
  for (const auto& [name, definition] : module.definitions) {
    if (definition.kind == Definition::Kind::schedule) check_schedule(context, definition);
    if (definition.kind == Definition::Kind::optimizer) read_rule(context, definition);
    if (definition.kind == Definition::Kind::recipe && !definition.head->block)
      context.engine.report(Code::L047, definition.head->keyword.span, {"recipe"});
  }
}

/// The imports and definitions that a loop of its own needs.
std::string resolved_head(const Modules& modules) {
  std::string uses;
  std::string definitions;
  for (const Module* module : modules.all()) {
    for (const auto& [name, definition] : module->definitions) {
      bool needs_use =
          definition.kind == Definition::Kind::optimizer || definition.kind == Definition::Kind::schedule;
      if (module->standard) {
        if (needs_use && module->dotted != "") uses += "use " + module->dotted + "\n";
      } else if (definition.kind != Definition::Kind::loop && definition.kind != Definition::Kind::recipe) {
        definitions += to_text(*definition.item, 0) + "\n\n";
      }
    }
  }
  return uses + (uses.empty() ? "" : "\n") + definitions;
}

void look_for_files(Context& context, const Spec& spec) {
  for (const SourceUse& source : spec.data.sources) {
    for (const Setting<std::string>& file : source.files) {
      fs::path path =
          fs::path(file.value).is_absolute() ? fs::path(file.value) : fs::path(spec.base_dir) / file.value;
      std::error_code ignored;
      bool pattern = file.value.find_first_of("*?") != std::string::npos;
      bool found = !pattern && fs::is_regular_file(path, ignored);
      if (pattern)
        for (fs::directory_iterator at(path.parent_path(), ignored), end; !ignored && at != end;
             at.increment(ignored))
          found = found || plan::glob_match(path.filename().string(), at->path().filename().string());
      if (!found)
        context.engine.report(Code::L092, file.span, {file.value}).note("looked for " + path.string());
    }
  }
}

class Analysis {
 public:
  Analysis(Context& context, const Options& options, const Module& root)
      : context_(context), options_(options), root_(root) {}

  std::vector<Spec> run() {
    bool constants_good = true;
    for (const Module* module : context_.modules.all())
      if (!module->standard) constants_good = check_constants(context_, *module) && constants_good;
    if (!constants_good) return {};
    overrides_ = read_overrides(context_, options_.overrides);
    std::vector<const Definition*> loops = loops_in_order(root_);
    if (!options_.loop.empty()) return one(loops);
    if (loops.empty()) {
      if (!root_.had_errors) no_loop();
      check_definitions(context_, root_);
      return {};
    }
    check_definitions(context_, root_);
    std::vector<Spec> specs;
    std::set<std::string> bases = bases_in(root_);
    for (const Definition* loop : loops) {
      auto tree = expand(context_, *loop);
      if (!tree || (bases.count(loop->name) > 0 && is_incomplete(*tree))) continue;
      if (auto spec = read(std::move(*tree))) specs.push_back(std::move(*spec));
    }
    return specs;
  }

 private:
  std::vector<Spec> one(const std::vector<const Definition*>& loops) {
    check_definitions(context_, root_);
    for (const Definition* loop : loops) {
      if (loop->name != options_.loop) continue;
      auto tree = expand(context_, *loop);
      std::optional<Spec> spec = tree ? read(std::move(*tree)) : std::nullopt;
      if (!spec) return {};
      std::vector<Spec> specs;
      specs.push_back(std::move(*spec));
      return specs;
    }
    std::vector<std::string> names;
    for (const Definition* loop : loops) names.push_back(loop->name);
    auto& finding = context_.engine.report(Code::L038, {root_.file.id, 0, 0}, {"loop", options_.loop});
    if (auto near = base::nearest(options_.loop, names))
      finding.help("did you mean `" + *near + "`?");
    else if (!names.empty())
      finding.help("the file has " + base::enumerate(names, " and "));
    return {};
  }

  void no_loop() {
    bool has_recipe = std::any_of(root_.definitions.begin(), root_.definitions.end(), [](const auto& entry) {
      return entry.second.kind == Definition::Kind::recipe;
    });
    auto& finding = context_.engine.report(Code::L093, {root_.file.id, 0, 0});
    if (has_recipe)
      finding.help("make a loop of a recipe: `loop NAME = RECIPE(…)`");
    else
      finding.help("a loop is written `loop NAME { … }`");
  }

  std::optional<Spec> read(LoopTree tree) {
    apply(context_, overrides_, tree);
    auto spec = read_loop(context_, tree);
    if (!spec) return std::nullopt;
    spec->file = root_.file.id;
    spec->base_dir = context_.modules.spec_dir().string();
    const std::vector<const Module*> modules = context_.modules.all();
    for (const Module* module : modules)
      spec->spec_files.push_back({module->path.string(), hash_of(*module)});
    spec->overrides = options_.overrides;
    if (head_modules_ != modules.size()) {
      head_ = resolved_head(context_.modules);
      head_modules_ = modules.size();
    }
    // The loop as it stands after everything was written in, a spec of its own.
    spec->resolved_text = head_ + "loop " + tree.name + " {\n" + to_text(tree.items, 2) + "}\n";
    if (options_.look_for_data) look_for_files(context_, *spec);
    return spec;
  }

  const std::string& hash_of(const Module& module) {
    auto [at, inserted] = hashes_.emplace(&module, "");
    if (inserted) at->second = plan::content_hash(context_.sources.file(module.file.id).text());
    return at->second;
  }

  Context& context_;
  const Options& options_;
  const Module& root_;
  std::vector<Override> overrides_;
  // What all loops of a file share is computed once: a file may have thousands of them.
  std::map<const Module*, std::string> hashes_;
  std::string head_;
  size_t head_modules_ = 0;  // how many modules the head was made from
};

}  // namespace

AnalysisResult analyze(base::SourceManager& sources, diagnostics::Engine& engine, const Options& options) {
  Modules modules(sources, engine, options.stdlib_dir);
  AnalysisResult result;
  const Module* root = modules.load_root(options.path, options.text);
  if (!root) return result;
  result.file = root->file.id;
  Context context{sources, engine, modules};
  result.specs = Analysis(context, options, *root).run();
  return result;
}

}  // namespace loop::sema
