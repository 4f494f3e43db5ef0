#include "compiler/fixes/apply.h"

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/fixes/layout.h"
#include "compiler/fixes/table.h"
#include "compiler/syntax/parser.h"

namespace loop::fixes {
namespace {

using diagnostics::Certainty;
using diagnostics::Code;
using diagnostics::Diagnostic;
using diagnostics::FixIt;

constexpr int kMostPasses = 20;
constexpr int kMostFollowing = 3;  // fixes that one fix may need after it

/// A text with its tree and what a check says of it.
class State {
 public:
  State(std::string text, Checked checked) : text_(std::move(text)), checked_(std::move(checked)) {
    const base::FileId id = sources_.add("", text_);
    diagnostics::Engine unheard;
    parsed_ = syntax::parse(sources_, id, unheard);
    canonical_ = !parsed_.had_errors && canonical_layout(text_) == text_;
  }

  const std::string& text() const { return text_; }
  const Checked& checked() const { return checked_; }
  const ast::File& tree() const { return parsed_.file; }
  bool about(const Diagnostic& finding) const { return finding.span && finding.span.file == checked_.file; }

  /// The text after a fix, in canonical form where this one is. Nothing when the edits cannot be made or
  /// change nothing.
  std::optional<std::string> after(const std::vector<Edit>& edits) const {
    std::optional<std::string> edited = apply_edits(text_, edits);
    if (edited && canonical_) edited = canonical_layout(*edited);
    if (!edited || *edited == text_) return std::nullopt;
    return edited;
  }

  /// What could be done about a finding, untried.
  std::vector<FixIt> proposals(const Diagnostic& finding) const {
    std::vector<FixIt> found;
    const Entry* entry = find(finding.code);
    for (const FixIt& fix : finding.fixes) {
      found.push_back(fix);
      if (!entry || !entry->trusts_analysis) found.back().certainty = Certainty::likely;
    }
    if (entry && entry->make) {
      for (FixIt& fix : entry->make(Subject(text_, parsed_.file, finding))) found.push_back(std::move(fix));
    }
    return found;
  }

 private:
  std::string text_;
  Checked checked_;
  base::SourceManager sources_;
  syntax::ParseResult parsed_;
  bool canonical_ = false;
};

std::map<Code, int> count(const Checked& checked) {
  std::map<Code, int> counts;
  for (const Diagnostic& finding : checked.findings) ++counts[finding.code];
  return counts;
}

/// The finding is gone, and nothing has come instead.
bool improves(const Checked& before, const Checked& after, Code repaired) {
  std::map<Code, int> then = count(before);
  std::map<Code, int> now = count(after);
  if (now[repaired] >= then[repaired]) return false;
  const bool reveals = after.loops > before.loops;
  return std::all_of(now.begin(), now.end(), [&](const auto& one) {
    return one.second <= then[one.first] ||  // Names come before meaning: while a loop's are not right it is
                                             // not checked.
           (reveals && diagnostics::is_about_meaning(one.first));
  });
}

/// For what is only offered: the finding is gone, and there are not more errors than before.
bool repairs(const Checked& before, const Checked& after, Code repaired) {
  const auto errors = [](const Checked& checked) {
    return std::count_if(checked.findings.begin(), checked.findings.end(), [](const Diagnostic& finding) {
      return finding.severity == diagnostics::Severity::error;
    });
  };
  return count(after)[repaired] < count(before)[repaired] &&
         (after.loops > before.loops || errors(after) <= errors(before));
}

struct Success {
  std::vector<Applied> applied;
  std::string text;
  Checked checked;
};

std::optional<Success> follow(const Checked& before, Code repaired, Success so_far, const Check& check,
                              int left);

/// A certain fix that takes its finding away: it holds at once, or after the certain fixes of everything that
/// it brought to light. `before` and `repaired` are of the first fix of the chain.
std::optional<Success> try_fix(const State& state, const Diagnostic& finding, const FixIt& fix,
                               const Checked& before, Code repaired, std::vector<Applied> applied,
                               const Check& check, int left) {
  std::optional<std::string> text = state.after(fix.edits);
  if (!text) return std::nullopt;
  Checked checked = check(*text);
  if (!repairs(state.checked(), checked, finding.code)) return std::nullopt;
  applied.push_back({finding.code, fix.title});
  Success success{std::move(applied), std::move(*text), std::move(checked)};
  if (improves(before, success.checked, repaired)) return success;
  return follow(before, repaired, std::move(success), check, left);
}

/// Repairs what a chain of fixes has brought, until nothing of it is left.
std::optional<Success> follow(const Checked& before, Code repaired, Success so_far, const Check& check,
                              int left) {
  if (left == 0) return std::nullopt;
  const State state(std::move(so_far.text), std::move(so_far.checked));
  std::map<Code, int> then = count(before);
  std::map<Code, int> now = count(state.checked());
  for (const Diagnostic& finding : state.checked().findings) {
    if (!state.about(finding) || now[finding.code] <= then[finding.code]) continue;
    for (const FixIt& fix : state.proposals(finding)) {
      if (fix.certainty != Certainty::certain) continue;
      if (auto success = try_fix(state, finding, fix, before, repaired, so_far.applied, check, left - 1))
        return success;
    }
  }
  return std::nullopt;
}

std::optional<Success> try_certain(const State& state, const Diagnostic& finding, const FixIt& fix,
                                   const Check& check) {
  if (fix.certainty != Certainty::certain) return std::nullopt;
  return try_fix(state, finding, fix, state.checked(), finding.code, {}, check, kMostFollowing);
}

/// The first certain fix of a finding that holds.
std::optional<Success> try_finding(const State& state, const Diagnostic& finding, const Check& check) {
  for (const FixIt& fix : state.proposals(finding)) {
    if (auto success = try_certain(state, finding, fix, check)) return success;
  }
  return std::nullopt;
}

std::string title_of(const std::vector<Applied>& applied) {
  std::string title;
  for (const Applied& one : applied) title += (title.empty() ? "" : ", then ") + one.title;
  return title;
}

}  // namespace

Fixed fix_text(const std::string& text, const Check& check,
               const std::function<bool(const Diagnostic&)>& wanted) {
  Fixed fixed;
  auto state = std::make_unique<State>(text, check(text));
  for (int pass = 0; pass < kMostPasses; ++pass) {
    bool changed = false;
    // After a fix the next finding stands where this one stood; what that skips, the next pass tries.
    for (size_t i = 0; i < state->checked().findings.size();) {
      const Diagnostic& finding = state->checked().findings[i];
      std::optional<Success> success;
      if (state->about(finding) && (!wanted || wanted(finding)))
        success = try_finding(*state, finding, check);
      if (!success) {
        ++i;
        continue;
      }
      for (Applied& applied : success->applied) fixed.applied.push_back(std::move(applied));
      state = std::make_unique<State>(std::move(success->text), std::move(success->checked));
      changed = true;
    }
    if (!changed) break;
  }
  fixed.text = state->text();
  fixed.remaining = state->checked().findings.size();
  return fixed;
}

void attach_fixes(const std::string& text, base::FileId file, const Check& check,
                  std::vector<Diagnostic>& findings) {
  const State state(text, check(text));
  for (Diagnostic& finding : findings) {
    if (!finding.span || finding.span.file != file) continue;
    bool is_certain = false;
    std::vector<FixIt> kept;
    for (FixIt& fix : state.proposals(finding)) {
      std::optional<std::string> after;
      if (fix.certainty == Certainty::certain) {
        if (is_certain) continue;
        std::optional<Success> success = try_certain(state, finding, fix, check);
        if (!success) continue;
        fix.title = title_of(success->applied);
        after = std::move(success->text);
        is_certain = true;
      } else {
        after = state.after(fix.edits);
        if (!after || !repairs(state.checked(), check(*after), finding.code)) continue;
      }
      // The edits as made, unless the layout needed more.
      if (apply_edits(text, fix.edits) != after) fix.edits = {difference(text, *after, file)};
      for (Edit& edit : fix.edits) edit.span.file = file;
      kept.push_back(std::move(fix));
    }
    finding.fixes = std::move(kept);
  }
}

}  // namespace loop::fixes
