#include "compiler/driver/merge.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "compiler/driver/text_file.h"

namespace loop::driver {
namespace fs = std::filesystem;
namespace {

using diagnostics::Diagnostic;
using diagnostics::Span;

/// A file's one true path, so that a file given and a file used are known to be the same.
std::string identity(const std::string& path) {
  std::error_code error;
  const fs::path canonical = fs::canonical(path, error);
  return error ? path : canonical.string();
}

/// Moves places of one compilation to the common sources.
class Placement {
 public:
  Placement(base::SourceManager& to, std::map<std::string, std::string> given)
      : to_(to), given_(std::move(given)) {}

  void from(const base::SourceManager& sources) {
    from_ = &sources;
    moved_.clear();
  }

  void move(Diagnostic& finding) {
    move(finding.span);
    for (diagnostics::Label& label : finding.labels) move(label.span);
    for (diagnostics::FixIt& fix : finding.fixes) {
      for (diagnostics::Edit& edit : fix.edits) move(edit.span);
    }
  }

  void move(Span& span) {
    if (!from_->contains(span.file)) {
      span = {};
      return;
    }
    auto moved = moved_.find(span.file.value);
    if (moved == moved_.end())
      moved = moved_.emplace(span.file.value, taken_over(from_->file(span.file))).first;
    span.file = moved->second;
  }

 private:
  base::FileId taken_over(const base::SourceFile& file) {
    const std::string key = identity(file.path());
    for (const base::FileId id : known_[key]) {
      if (to_.file(id).text() == file.text()) return id;
    }
    // A file that was given is shown by the name it was given by.
    const auto given = given_.find(key);
    const base::FileId id = to_.add(given == given_.end() ? file.path() : given->second, file.text());
    known_[key].push_back(id);
    return id;
  }

  base::SourceManager& to_;
  std::map<std::string, std::string> given_;
  const base::SourceManager* from_ = nullptr;
  std::map<uint32_t, base::FileId> moved_;
  std::map<std::string, std::vector<base::FileId>> known_;
};

struct Order {
  const base::SourceManager& sources;

  auto key(const Diagnostic& d) const {
    const std::string& path = d.span ? sources.file(d.span.file).path() : kNoPath;
    return std::tie(path, d.span.begin, d.span.end, d.code, d.message);
  }
  bool operator()(const Diagnostic& a, const Diagnostic& b) const { return key(a) < key(b); }
  bool same(const Diagnostic& a, const Diagnostic& b) const { return key(a) == key(b); }

  inline static const std::string kNoPath;
};

/// A finding and what the settings of the files that give it say of it.
struct Judged {
  Diagnostic finding;
  bool shown = false;
  bool fails = false;
};

class Merger {
 public:
  explicit Merger(base::SourceManager& sources) : order_{sources}, report_{sources, {}, {}, {}, 0, 0} {}

  void add(const CheckedFile& file, Placement& placement) {
    ++report_.checked_files;
    placement.from(file.compilation.sources);
    for (Diagnostic finding : file.compilation.engine.diagnostics()) {
      placement.move(finding);
      const bool shown = file.settings->shows(finding);
      const bool fails = file.settings->fails(finding);
      judged_.push_back({std::move(finding), shown, shown && fails});
    }
    for (diagnostics::Allowed allowed : file.compilation.allowed) {
      placement.move(allowed.finding);
      placement.move(allowed.comment);
      report_.allowed.push_back(std::move(allowed));
    }
  }

  diagnostics::Report report() {
    sort_allowed();
    std::stable_sort(judged_.begin(), judged_.end(),
                     [&](const Judged& a, const Judged& b) { return order_(a.finding, b.finding); });
    std::vector<Judged> kept;
    for (Judged& one : judged_) {
      if (!kept.empty() && order_.same(kept.back().finding, one.finding)) {
        kept.back().shown = kept.back().shown || one.shown;
        kept.back().fails = kept.back().fails || one.fails;
      } else if (!is_needed_allowance(one.finding)) {
        kept.push_back(std::move(one));
      }
    }
    for (Judged& one : kept) {
      if (!one.shown) {
        count_hidden(one.finding.severity);
        continue;
      }
      report_.failing += one.fails ? 1 : 0;
      report_.findings.push_back(std::move(one.finding));
    }
    return std::move(report_);
  }

 private:
  void sort_allowed() {
    std::vector<diagnostics::Allowed>& allowed = report_.allowed;
    std::stable_sort(allowed.begin(), allowed.end(),
                     [&](const auto& a, const auto& b) { return order_(a.finding, b.finding); });
    const auto last = std::unique(allowed.begin(), allowed.end(), [&](const auto& a, const auto& b) {
      return order_.same(a.finding, b.finding);
    });
    allowed.erase(last, allowed.end());
    for (const diagnostics::Allowed& one : allowed)
      needed_.emplace(one.comment.file.value, one.comment.begin);
  }

  /// Unused in one spec, but another spec that uses the same file needs it.
  bool is_needed_allowance(const Diagnostic& finding) const {
    return finding.code == diagnostics::Code::L023 &&
           needed_.contains({finding.span.file.value, finding.span.begin});
  }

  void count_hidden(diagnostics::Severity severity) {
    switch (severity) {
      case diagnostics::Severity::error:
        ++report_.hidden.errors;
        return;
      case diagnostics::Severity::warning:
        ++report_.hidden.warnings;
        return;
      case diagnostics::Severity::note:
        ++report_.hidden.notes;
        return;
    }
  }

  Order order_;
  diagnostics::Report report_;
  std::vector<Judged> judged_;
  std::set<std::pair<uint32_t, uint32_t>> needed_;  // allowances by file and place
};

}  // namespace

diagnostics::Report merge(const std::vector<std::unique_ptr<CheckedFile>>& files,
                          base::SourceManager& sources) {
  std::map<std::string, std::string> given;
  for (const auto& file : files) {
    if (file->path != kStandardInput) given.emplace(identity(file->path), file->path);
  }
  Placement placement(sources, std::move(given));
  Merger merger(sources);
  for (const auto& file : files) merger.add(*file, placement);
  return merger.report();
}

}  // namespace loop::driver
