#include "compiler/check/normalisation/explain.h"

#include <algorithm>

namespace loop::check {
namespace {

using diagnostics::Code;
using plan::OpKind;

std::string count_name(const JudgeContext& context, const char* base, int count_class) {
  if (context.spec.count_classes.size() <= 1) return base;
  return std::string(base) + "(" + class_name(context.spec, count_class) + ")";
}

std::string atom_text(const JudgeContext& context, Atom atom) {
  switch (atom.symbol) {
    case Symbol::loss_scale:
      return atom.index == 0 ? "S" : "S_" + std::to_string(atom.index);
    case Symbol::micro_batches:
      return "K";
    case Symbol::counted:
      return "K_w";
    case Symbol::ranks:
      return "R";
    case Symbol::count_global:
      return count_name(context, "N", atom.index);
    case Symbol::count_rank:
    case Symbol::count_rank_after:
      return count_name(context, "N_r", atom.index);
    case Symbol::count_micro:
      return count_name(context, "n_rk", atom.index);
    case Symbol::filled:
    case Symbol::filled_rank:
      return "M";
    case Symbol::opaque:
      return "…";
  }
  return "";
}

std::string text_of(const JudgeContext& context, const Monomial& monomial) {
  return to_text(monomial, [&](Atom atom) { return atom_text(context, atom); });
}

Monomial needed(const JudgeContext& context, int count_class) {
  const ClassFacts& facts = context.facts.classes.at(count_class);
  if (facts.constant) return Monomial(1 / *facts.constant);
  return Monomial::of({Symbol::count_global, count_class}, -1);
}

/// Without what only the analysis tells apart.
Monomial for_person(const Monomial& factor) {
  return factor.substituted([](Atom atom) {
    atom.written = false;
    if (atom.symbol == Symbol::loss_scale) atom.index = 0;
    return Monomial::of(atom);
  });
}

void show_legend(const Monomial& found, Finding& finding) {
  std::string legend = "N: the window's count over all ranks";
  if (found.contains(Symbol::count_rank) || found.contains(Symbol::count_rank_after))
    legend += "; N_r: this rank's";
  if (found.contains(Symbol::count_micro)) legend += "; n_rk: this micro-batch's";
  if (found.contains(Symbol::micro_batches)) legend += "; K: micro-batches as configured";
  if (found.contains(Symbol::counted)) legend += "; K_w: micro-batches of this window";
  if (found.contains(Symbol::ranks)) legend += "; R: ranks";
  if (found.contains(Symbol::loss_scale)) legend += "; S: the loss scale";
  finding.note(legend);
}

bool right_in_full_windows(const JudgeContext& context, const FactorMismatch& mismatch) {
  if (mismatch.sum) return false;
  const Identities optimistic(context.facts, {false, true});
  const Monomial found = optimistic.normal_form(mismatch.found.factor.without(Symbol::loss_scale));
  const Monomial right =
      optimistic.normal_form(Monomial::of({Symbol::count_global, mismatch.count_class}, -1));
  return found.equals(right);
}

std::string why_not_always_full(const JudgeContext& context, const FactorMismatch& mismatch) {
  const Facts& facts = context.facts;
  const bool counts_ranks = mismatch.found.factor.contains(Symbol::count_micro) ||
                            mismatch.found.factor.contains(Symbol::count_rank);
  if (context.trace.tail) return "with `tail = flush` the last window of an epoch has fewer micro-batches";
  if (context.spec.window.size.value.ramp)
    return "the window's size grows, and so does its number of micro-batches";
  if (facts.short_micro_batches && counts_ranks) return "the last micro-batch of an epoch can be short";
  if (facts.short_micro_batches)
    return "the last micro-batch of an epoch can be short (`data.short` is not `drop`)";
  return "windows differ in their counts";
}

const sema::Operation* origin_of(const FactorMismatch& mismatch, Symbol symbol, int exponent_sign) {
  for (const Origin& origin : mismatch.found.origins) {
    if (!origin.operation) continue;
    for (const auto& [atom, exponent] : origin.factor.powers()) {
      if (atom.symbol == symbol && exponent * exponent_sign > 0) return origin.operation;
    }
  }
  return nullptr;
}

/// Equal counts, and K means added up: one division by K repairs it.
std::optional<Finding> means_added(const JudgeContext& context, const FactorMismatch& mismatch,
                                   const sema::Operation& step) {
  const Monomial k = context.identities().normal_form(Monomial::of({Symbol::counted, 0}));
  if (!mismatch.quotient.equals(k)) return std::nullopt;
  const sema::Operation* origin = origin_of(mismatch, Symbol::count_micro, -1);
  const std::string times =
      context.facts.micro_batches ? std::to_string(*context.facts.micro_batches) : "K_w";
  Finding finding(Code::L315, origin ? origin->span : step.span, {times});
  finding.note("all micro-batches have the same count n here, so that N = R·K·n: only 1/K is missing");
  finding.help(context.facts.micro_window
                   ? "write `scale_loss(1 / micro_batches)` after `loss(mean)`"
                   : "write `scale_loss(1 / micro_batches.counted)` after `loss(mean)`");
  return finding.help("or take the sum (`loss`) and divide once by the window's count (`normalize`)");
}

base::Span place(const sema::Operation* operation, const sema::Operation& step) {
  return operation ? operation->span : step.span;
}

}  // namespace

void show_factor(const JudgeContext& context, const FactorMismatch& mismatch, Finding& finding) {
  // Readings of the loss scale are told apart only where they differ.
  const bool rescaled = !mismatch.scale.is_one() && mismatch.scale.total_exponent(Symbol::loss_scale) == 0;
  const auto person = [&](const Monomial& factor) {
    return rescaled ? factor.substituted([](Atom atom) {
      atom.written = false;
      return Monomial::of(atom);
    })
                    : for_person(factor);
  };
  const Monomial found = person(mismatch.found.factor);
  finding.note("c found:  " + text_of(context, found) + (mismatch.sum ? " + … (several summands)" : "") +
               "  (" + context.micro(mismatch.micro) + ")");
  finding.note("c needed: " + text_of(context, needed(context, mismatch.count_class)));
  show_legend(found, finding);
  if (rescaled) finding.note("S_1, S_2 …: the loss scale changes with every `update_scale`");
  const bool written = context.spec.micro.written || context.spec.update.written;
  for (const Origin& origin : mismatch.found.origins) {
    if (!origin.operation || origin.factor.is_one() || !written) continue;
    std::string text = "× " + text_of(context, person(origin.factor));
    if (origin.operation->span == context.spec.name_span) {
      text += ", by `" + std::string(plan::name(origin.operation->op.kind)) + "`, which the compiler writes";
    }
    const bool known =
        std::any_of(finding.labels.begin(), finding.labels.end(), [&](const diagnostics::Label& label) {
          return label.span == origin.operation->span && label.text == text;
        });
    if (known) continue;
    if (origin.operation->span == finding.span && finding.label.empty()) {
      finding.says(text);
    } else {
      finding.also(origin.operation->span, text);
    }
  }
}

Finding explain_factor(const JudgeContext& context, const FactorMismatch& mismatch,
                       const sema::Operation& step, const sema::Operation* later_multiply) {
  const Monomial& found = mismatch.found.factor;
  const int own = mismatch.count_class;
  const std::string needed_text = text_of(context, needed(context, own));
  const int global =
      found.exponent({Symbol::count_global, own, false}) + found.exponent({Symbol::count_global, own, true});
  const bool constant = context.facts.classes.at(own).constant.has_value();
  const auto finish = [&](Finding finding) {
    show_factor(context, mismatch, finding);
    const std::string words = context.window_words();
    if (!words.empty()) finding.note("this shows " + words);
    finding.then([](Repairs& repairs) { repairs.factor = true; });
    return finding;
  };

  if (right_in_full_windows(context, mismatch)) {
    const sema::Operation* origin = origin_of(mismatch, Symbol::micro_batches, -1);
    if (!origin) origin = origin_of(mismatch, Symbol::count_micro, -1);
    Finding finding(Code::L306, place(origin, step), {why_not_always_full(context, mismatch)});
    finding.help(
        "divide by the real count: `loss` as a sum and `normalize` in `update`, or `loss(normalized)`");
    return finish(finding);
  }
  if (later_multiply) {
    return finish(Finding(Code::L113, step.span, {std::string(plan::name(later_multiply->op.kind))})
                      .also(later_multiply->span, "this comes too late")
                      .help("write `" + std::string(plan::name(later_multiply->op.kind)) +
                            "` before `clip` and `step`"));
  }
  // Where the counts are known to be equal, a mean of means is right but for a number.
  const bool counts_cancel = std::none_of(
      mismatch.quotient.powers().begin(), mismatch.quotient.powers().end(), [](const Powers::Power& power) {
        const Symbol symbol = power.first.symbol;
        return symbol != Symbol::ranks && symbol != Symbol::micro_batches && symbol != Symbol::counted;
      });
  const Monomial counts = constant ? found : for_person(found);
  if (counts.contains(Symbol::count_micro) && counts_cancel && !mismatch.sum) {
    if (std::optional<Finding> finding = means_added(context, mismatch, step)) return finish(*finding);
    return finish(Finding(Code::L310, step.span, {text_of(context, for_person(found)), needed_text})
                      .note("the counts are equal here, so that c is " + text_of(context, mismatch.quotient) +
                            " times what is needed"));
  }
  if (counts.contains(Symbol::count_micro) && context.facts.always_one) {
    return finish(Finding(Code::L304, place(origin_of(mismatch, Symbol::count_micro, -1), step))
                      .note("a window of one micro-batch has n_rk = N_r: a rank with 1 counted unit then "
                            "weighs as much as a rank with 9")
                      .help("take the sum (`loss`) and divide by the count over all ranks (`normalize`)"));
  }
  if (counts.contains(Symbol::count_micro)) {
    const sema::Operation* origin = origin_of(mismatch, Symbol::count_micro, -1);
    return finish(Finding(Code::L301, place(origin, step),
                          {context.micro(mismatch.micro),
                           text_of(context, for_person(found.without(Symbol::loss_scale))), needed_text})
                      .note("with counts 2 and 6, each unit of the first micro-batch weighs three times one "
                            "of the second; no later factor "
                            "can repair that")
                      .help("take the sum (`loss`) and divide once by the window's count (`normalize`)"));
  }
  if (found.contains(Symbol::count_rank_after)) {
    const sema::Operation* origin = origin_of(mismatch, Symbol::count_rank, 1);
    if (!origin) origin = origin_of(mismatch, Symbol::count_rank, -1);
    for (const Origin& one : mismatch.found.origins) {
      if (one.operation && one.factor.contains(Symbol::count_rank_after)) origin = one.operation;
    }
    return finish(Finding(Code::L213, place(origin, step)).help("use the count over all ranks, `.global`"));
  }
  if (found.contains(Symbol::count_rank)) {
    return finish(Finding(Code::L304, place(origin_of(mismatch, Symbol::count_rank, -1), step))
                      .note("a rank with 1 counted unit then weighs as much as a rank with 9")
                      .help("use `.global` instead of `.rank`, or `normalize`"));
  }
  for (const auto& [atom, exponent] : found.powers()) {
    if (atom.symbol == Symbol::count_global && atom.index != own) {
      return finish(Finding(Code::L308, place(origin_of(mismatch, Symbol::count_global, -1), step),
                            {class_name(context.spec, own), class_name(context.spec, atom.index)})
                        .help("use `loss(normalized)`: every term is divided by its own count"));
    }
  }
  const int by_ranks = mismatch.found.factor.total_exponent(Symbol::ranks);
  const int by_k = found.total_exponent(Symbol::micro_batches) + found.total_exponent(Symbol::counted);
  if (global == 0 && !constant) {
    Finding finding(Code::L302, step.span, {class_name(context.spec, own)});
    if (by_k < 0) finding.note("dividing by the number of micro-batches does not replace the count");
    finding.help(context.spec.count_classes.size() > 1 ? "write `loss(normalized)` in `micro`"
                                                       : "write `normalize` before `clip` and `step`");
    return finish(finding);
  }
  const bool count_right = constant || global == -1;
  if (!constant && global < -1) {
    return finish(
        Finding(Code::L303, place(origin_of(mismatch, Symbol::count_global, -1), step), {"the count again"})
            .help("delete one of the two"));
  }
  if (count_right && by_k < 0 && by_ranks == 0) {
    const sema::Operation* origin = origin_of(mismatch, Symbol::micro_batches, -1);
    if (!origin) origin = origin_of(mismatch, Symbol::counted, -1);
    return finish(Finding(Code::L303, place(origin, step), {"the number of micro-batches"})
                      .note("the update is " + text_of(context, mismatch.quotient) + " of the right size")
                      .help("delete the factor"));
  }
  if (count_right && by_ranks < 0 && by_k == 0 && found.number() == needed(context, own).number()) {
    return finish(
        Finding(Code::L305, place(origin_of(mismatch, Symbol::count_global, -1), step))
            .note(
                "a mean over R ranks has divided by R already; with the global count the factor must be R/N")
            .help(
                "use `normalize`, which knows the reduction, or multiply by `ranks`, or set `reduce = sum`"));
  }
  if (count_right && by_ranks > 0 && by_k == 0) {
    if (mismatch.reductions > 1) {
      const bool manual = context.spec.window.sync.value == plan::Sync::manual;
      return finish(Finding(Code::L205, place(origin_of(mismatch, Symbol::ranks, 1), step),
                            {context.micro(mismatch.micro)})
                        .note(manual ? "`reduce` reduces everything accumulated so far"
                                     : "a synchronising `backward` reduces everything accumulated so far")
                        .help(manual ? "write `reduce` once, at the start of `update`"
                                     : "synchronise the last micro-batch only: `sync_on(last) { … }` around "
                                       "`forward` and `backward`, or set `reduce = mean`, under which a "
                                       "repeated reduction only costs time"));
    }
    return finish(Finding(Code::L309, place(origin_of(mismatch, Symbol::ranks, 1), step))
                      .help("a sum over ranks needs no factor for them; with `reduce = mean` it would"));
  }
  Finding finding(Code::L310, step.span, {text_of(context, for_person(found)), needed_text});
  if (!mismatch.sum)
    finding.help("a factor of " + text_of(context, mismatch.quotient.inverse()) + " makes it right");
  return finish(finding);
}

}  // namespace loop::check
