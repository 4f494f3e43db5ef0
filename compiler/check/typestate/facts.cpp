#include "compiler/check/typestate/facts.h"

namespace loop::check {
namespace {

using plan::CountUnit;

bool divides_exactly(const sema::Spec& spec, const sema::SourceFacts& source) {
  if (!source.size_samples || !spec.ranks.value || spec.data.micro_batch_samples.value <= 0) return false;
  return *source.size_samples % (spec.data.micro_batch_samples.value * *spec.ranks.value) == 0;
}

bool full_windows_only(const sema::Spec& spec, const sema::SourceFacts& source,
                       const plan::WindowSize& size) {
  if (!source.finite || spec.window.tail.value != plan::Tail::flush) return true;
  if (size.unit != plan::WindowSize::Unit::micro_batches || size.ramp) return false;
  if (!divides_exactly(spec, source)) return false;
  const int64_t window_samples = spec.data.micro_batch_samples.value * *spec.ranks.value * size.value;
  return window_samples > 0 && *source.size_samples % window_samples == 0;
}

ClassFacts class_facts(const sema::Spec& spec, const plan::CountClass& count_class,
                       const sema::SourceFacts& source) {
  ClassFacts facts;
  const bool masked = count_class.ignore.has_value() && !source.equal_counts;
  switch (count_class.unit) {
    case CountUnit::samples:
      facts.equal = facts.never_empty = !masked;
      if (!masked) {
        if (!spec.data.micro_batch_auto)
          facts.per_micro = static_cast<double>(spec.data.micro_batch_samples.value);
        const plan::WindowSize& size = spec.window.size.value;
        if (size.unit == plan::WindowSize::Unit::samples && !size.ramp)
          facts.global = static_cast<double>(size.value);
      }
      break;
    case CountUnit::tokens:
    case CountUnit::positions:
      facts.equal = source.equal_counts;
      facts.never_empty = !masked;
      break;
    case CountUnit::boxes:
    case CountUnit::class_weight:
      break;
    case CountUnit::micro_batch:
      facts.equal = facts.never_empty = !masked;
      facts.per_micro = 1;
      break;
    case CountUnit::constant:
      facts.constant = count_class.constant;
      facts.never_empty = true;
      break;
    case CountUnit::window:
      facts.constant = 1;
      facts.never_empty = true;
      break;
  }
  facts.at_least = count_class.at_least.has_value();
  return facts;
}

}  // namespace

Facts facts_of(const sema::Spec& spec) {
  Facts facts;
  facts.ranks = spec.ranks.value;
  facts.fp16 = spec.amp.value.mode == plan::AmpMode::fp16;

  const plan::WindowSize& size = spec.window.size.value;
  facts.micro_window = size.unit == plan::WindowSize::Unit::micro_batches;
  if (facts.micro_window && !size.ramp) facts.micro_batches = size.value;
  facts.always_one = facts.micro_batches == 1;

  sema::SourceFacts source;
  const bool has_source =
      spec.data.train >= 0 && spec.data.train < static_cast<int>(spec.data.sources.size());
  if (has_source) source = spec.data.sources[spec.data.train].facts;

  facts.short_windows = !full_windows_only(spec, source, size);
  facts.short_micro_batches = source.finite && spec.data.short_policy.value != plan::ShortPolicy::drop &&
                              !divides_exactly(spec, source);
  facts.uneven_full_windows =
      !facts.micro_window ||
      (source.split_by_file && spec.data.uneven.value == plan::UnevenPolicy::pad_empty);
  facts.empty_windows = spec.window.empty.value == plan::EmptyPolicy::skip && !spec.count_classes.empty();
  for (const plan::CountClass& count_class : spec.count_classes) {
    facts.classes.push_back(class_facts(spec, count_class, source));
    if (facts.classes.back().never_empty) facts.empty_windows = false;
  }
  facts.nonfinite_windows = spec.nonfinite.value.action == plan::NonfiniteAction::skip;
  return facts;
}

std::string class_name(const sema::Spec& spec, int count_class) {
  const plan::CountUnit unit = spec.count_classes.at(count_class).unit;
  int same = 0;
  for (const plan::CountClass& other : spec.count_classes) same += other.unit == unit;
  if (same == 1) return plan::name(unit);
  for (const sema::LossTerm& term : spec.terms) {
    if (term.term.count_class == count_class) return term.term.name;
  }
  return plan::name(unit);
}

}  // namespace loop::check
