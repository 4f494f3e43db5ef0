// The table of operations as a page for people. Generated, so that page and checker cannot disagree.
#include <sstream>

#include "compiler/operations/table.h"

namespace loop::operations {
namespace {

const char* block(Where where) {
  switch (where) {
    case Where::micro:
      return "micro";
    case Where::update:
      return "update";
    case Where::both:
      return "micro, update";
  }
  return "";
}

std::string written(const Entry& entry) {
  std::string text(entry.name);
  switch (entry.arguments) {
    case Arguments::none:
      break;
    case Arguments::optional_mode:
      text += "`, `loss(mean)`, `loss(normalized)";
      break;
    case Arguments::mode:
      text += entry.kind == plan::OpKind::reduce ? "(sum)`, `reduce(mean)"
                                                 : "(last | first | every | none) { … }";
      break;
    case Arguments::factor:
      text += "(E)";
      break;
    case Arguments::clip:
      text += entry.kind == plan::OpKind::clip_norm ? "(norm: x)" : "(value: x)";
      break;
    case Arguments::rule:
      text += " RULE(…)";
      break;
    case Arguments::condition:
      text += " CONDITION { … }";
      break;
    case Arguments::name:
      text += " NAME";
      break;
  }
  if (entry.takes_groups) text += " on GROUPS";
  if (entry.kind == plan::OpKind::autocast) text += " { … }";
  return text;
}

std::string needs(const Entry& entry) {
  std::vector<std::string> parts;
  if (entry.graph_need == GraphNeed::outputs) parts.emplace_back("a `forward` before it in this micro-batch");
  if (entry.graph_need == GraphNeed::loss) parts.emplace_back("an open `loss` in this micro-batch");
  if (entry.gradient_need & kComplete) parts.emplace_back("complete window");
  if (entry.gradient_need & kReduced) parts.emplace_back("reduced over ranks");
  if (entry.gradient_need & kUnscaled) parts.emplace_back("unscaled");
  if (entry.gradient_need & kNormalized) parts.emplace_back("normalised");
  if (entry.gradient_need & kUnspent) parts.emplace_back("not used by a step");
  if (entry.verdict == Verdict::needs) parts.emplace_back("`unscale` or `step` before it");
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text.empty() ? "nothing" : text;
}

const char* gradient(const Entry& entry) {
  switch (entry.gradient_effect) {
    case GradientEffect::none:
      return "unchanged";
    case GradientEffect::accumulates:
      return "adds this micro-batch";
    case GradientEffect::reduces:
      return "local becomes replicated";
    case GradientEffect::multiplies:
      return "multiplied";
    case GradientEffect::clips:
      return "clipped";
    case GradientEffect::applies:
      return "spent";
    case GradientEffect::zeroes:
      return "empty";
  }
  return "";
}

const char* factor(const Entry& entry) {
  switch (entry.factor_effect) {
    case FactorEffect::none:
      return "—";
    case FactorEffect::loss_mode:
      return "1; mean: 1/n_rk; normalized: 1/N";
    case FactorEffect::written:
      return "E";
    case FactorEffect::inverse_scale:
      return "1/S";
    case FactorEffect::world_over_count:
      return "W/N";
    case FactorEffect::reduction:
      return "sum: local 1, replicated R; mean: local 1/R, replicated 1";
  }
  return "";
}

}  // namespace

std::string reference_page() {
  std::ostringstream out;
  out << "# Operations\n\n"
         "What may stand in `micro { … }` and `update { … }`. The checker reads the same table: an operation "
         "whose need is not met\n"
         "where it stands is a finding, unless the result is the same anyway.\n\n"
         "| operation | block | needs | gradient | factor on c |\n|---|---|---|---|---|\n";
  for (const Entry& entry : table()) {
    out << "| `" << written(entry) << "` | " << block(entry.where) << " | " << needs(entry) << " | "
        << gradient(entry) << " | " << factor(entry) << " |\n";
  }
  out << "\n## What each does\n\n";
  for (const Entry& entry : table()) out << "- `" << written(entry) << "`: " << entry.meaning << "\n";
  out << "\n## Factors\n\n"
         "E is a product of numbers and powers of `loss_scale` (S), `micro_batches` (the configured K; with "
         "windows in\n"
         "micro-batches only), `micro_batches.counted` (this window's K), `ranks` (R), and for any unit "
         "`tokens.global` (N),\n"
         "`tokens.rank` (N_r) and `tokens.micro` (n_rk; in `scale_loss` only). Counts are the finished "
         "window's, wherever they are\n"
         "read. Without fp16, S = 1.\n\n"
         "Operations of `update` may be written in `micro`; with more than one micro-batch per window that "
         "is wrong, unless a guard\n"
         "such as `when last { … }` makes it the same.\n";
  return out.str();
}

}  // namespace loop::operations
