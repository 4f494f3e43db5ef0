#include <sstream>

#include "tests/oracle/factors.h"
#include "tests/oracle/mutations.h"

namespace loop::oracle {
namespace {

using plan::Expression;
using plan::OpKind;

/// lr · (1 - 0.05 · updates): a schedule, so that a clock that runs wrong shows in the parameters.
Expression falling(double lr) {
  return Expression::apply(
      "*", {Expression::constant(lr),
            Expression::apply(
                "-", {Expression::constant(1), Expression::apply("*", {Expression::constant(0.05),
                                                                       Expression::variable("updates")})})});
}

plan::StepRule sgd(double lr, double momentum, double decay) {
  plan::StepRule rule;
  rule.optimizer = "std.optimizers.sgd";
  rule.hyper = {{"lr", falling(lr)},
                {"momentum", Expression::constant(momentum)},
                {"dampening", Expression::constant(0)},
                {"nesterov", Expression::constant(0)},
                {"weight_decay", Expression::constant(decay)}};
  return rule;
}

/// The rules of the steps. A gradient that is a sum over a window wants a smaller rate.
const plan::StepRule& rule(const Setting& setting, int index) {
  static const plan::StepRule rules[] = {sgd(0.1, 0.8, 0.0), sgd(0.07, 0.6, 0.02), sgd(0.005, 0.8, 0.0),
                                         sgd(0.0035, 0.6, 0.02)};
  return rules[index + (setting.unit == Setting::Unit::window ? 2 : 0)];
}

std::vector<std::string> scope(int variant) {
  if (variant == 1) return {"a"};
  if (variant == 2) return {"b"};
  return {};
}

sema::Group group(const char* name) {
  sema::Group made;
  made.group.name = name;
  made.group.predicate.kind = plan::Predicate::Kind::name_glob;
  made.group.predicate.glob = std::string(name) + ".*";
  return made;
}

sema::LossTerm term(const char* name, const char* loss, double weight, int count_class, bool masked) {
  sema::LossTerm made;
  made.term.name = name;
  made.term.weight = weight;
  made.term.component.name = loss;
  made.term.count_class = count_class;
  made.facts.known = true;
  made.facts.masked = masked;
  return made;
}

plan::CountUnit unit_of(Setting::Unit unit) {
  switch (unit) {
    case Setting::Unit::tokens:
      return plan::CountUnit::tokens;
    case Setting::Unit::constant:
      return plan::CountUnit::constant;
    case Setting::Unit::window:
      return plan::CountUnit::window;
    case Setting::Unit::micro_batch:
      return plan::CountUnit::micro_batch;
  }
  return plan::CountUnit::tokens;
}

template <class T>
void write(sema::Setting<T>& setting, T value, bool written = true) {
  setting.value = std::move(value);
  setting.written = written;
}

}  // namespace

SpecBuilder::SpecBuilder(const Setting& setting) : setting_(setting) {
  sema::Spec& spec = spec_;
  spec.file = base::FileId{1};
  spec.name = "oracle";
  if (setting.ranks) write(spec.ranks, std::optional<int64_t>(setting.ranks));
  spec.model.component.name = "linear";
  spec.model.facts.known = true;

  sema::SourceUse source;
  source.source.name = "train";
  source.source.component.name = "text";
  source.facts.known = true;
  source.facts.finite = true;
  source.facts.equal_counts = setting.equal;
  spec.data.sources.push_back(source);
  spec.data.train = 0;
  write<int64_t>(spec.data.micro_batch_samples, 8);
  write(spec.data.short_policy, setting.equal ? plan::ShortPolicy::drop : plan::ShortPolicy::keep);

  if (setting.groups == 1) {
    sema::Group all;
    all.group.name = "all";
    spec.groups.push_back(all);
    spec.model.facts.parameters = {{"a.weight", {2}}};
  } else {
    spec.groups = {group("a"), group("b")};
    spec.model.facts.parameters = {{"a.weight", {2}}, {"b.weight", {2}}};
  }

  plan::CountClass first;
  first.unit = unit_of(setting.unit);
  if (setting.unit == Setting::Unit::constant) first.constant = 64;
  if (!setting.equal) first.ignore = -100;
  spec.count_classes.push_back(first);
  spec.terms.push_back(term("main", "cross_entropy", 1, 0, !setting.equal));
  if (setting.classes > 1) {
    plan::CountClass second;
    second.unit = setting.equal ? plan::CountUnit::samples : plan::CountUnit::boxes;
    spec.count_classes.push_back(second);
    spec.terms.push_back(term("other", "l1", 0.5, 1, false));
  }

  if (setting.fp16) {
    plan::Amp amp;
    amp.mode = plan::AmpMode::fp16;
    // The scale is below and above 1 in the course of a run.
    amp.init_scale = 4;
    amp.growth_factor = 4;
    amp.backoff_factor = 1.0 / 256;
    amp.min_scale = 1.0 / 1024;
    amp.growth_interval = 1;  // the scale changes at every update_scale
    write(spec.amp, amp);
  }

  plan::WindowSize size;
  size.value = setting.size == Setting::Size::one ? 1 : 3;
  if (setting.size == Setting::Size::ramp) size.ramp = plan::WindowSize::Ramp{1, plan::Clock::updates, 4};
  if (setting.size == Setting::Size::tokens) {
    size.unit = plan::WindowSize::Unit::tokens;
    size.value = 4096;
  }
  write(spec.window.size, size);
  switch (setting.sync) {
    case Setting::Sync::written:
      break;
    case Setting::Sync::manual:
      write(spec.window.sync, plan::Sync::manual);
      break;
    case Setting::Sync::last:
      write(spec.window.sync, plan::Sync::last);
      break;
    case Setting::Sync::every:
      write(spec.window.sync, plan::Sync::every);
      break;
  }
  write(spec.window.reduce, setting.reduce);
  write(spec.window.tail, std::optional<plan::Tail>(setting.tail));

  sema::Average average;
  average.average.name = "ema";
  average.average.decay = Expression::constant(0.9);
  spec.averages.push_back(average);

  sema::StopCondition stop;
  stop.condition.limit = {plan::Clock::updates, 12};
  spec.stop.push_back(stop);
  sema::ScheduleUse schedule;
  schedule.schedule = "falling";
  schedule.clock = plan::Clock::updates;
  schedule.value = falling(0.1);
  spec.schedules.push_back(schedule);

  spec.micro.written = setting.sync == Setting::Sync::written || setting.sync == Setting::Sync::manual;
  spec.update.written = true;
}

sema::Operation SpecBuilder::operation(const Token& token) const {
  sema::Operation made;
  plan::Operation& op = made.op;
  op.kind = token.kind;
  switch (token.kind) {
    case OpKind::loss:
      op.loss_mode = static_cast<plan::LossMode>(token.variant);
      break;
    case OpKind::scale_loss:
    case OpKind::scale_grad:
      op.factor = factor(setting_, token.variant);
      break;
    case OpKind::sync_on:
      op.sync_on = static_cast<plan::SyncOn>(token.variant);
      break;
    case OpKind::reduce:
      op.reduce_mode = static_cast<plan::ReduceMode>(token.variant);
      break;
    case OpKind::clip_norm:
      op.limit = Expression::constant(1.0);
      op.groups = scope(token.variant);
      break;
    case OpKind::clip_value:
      op.limit = Expression::constant(0.8);
      op.groups = scope(token.variant);
      break;
    case OpKind::step:
      op.rule = rule(setting_, token.variant / 3);
      op.groups = scope(token.variant % 3);
      break;
    case OpKind::tick:
      op.target = token.variant == 0 ? "updates" : "attempts";
      break;
    case OpKind::average:
      op.target = "ema";
      break;
    case OpKind::when:
      op.condition = condition(token.variant);
      break;
    default:
      break;
  }
  return made;
}

size_t SpecBuilder::read(const std::vector<Token>& tokens, size_t from, size_t to,
                         std::vector<sema::Operation>& out) {
  size_t at = from;
  while (at < to && tokens[at].part != Token::Part::closes) {
    out.push_back(operation(tokens[at]));
    uint32_t begin = place_;
    place_ += 10;
    bool opens = tokens[at].part == Token::Part::opens;
    ++at;
    if (opens) at = read(tokens, at, to, out.back().body) + 1;
    // Places that differ, as in a file.
    sema::Operation& made = out.back();
    made.name_span = {spec_.file, begin, begin + 4};
    made.argument_span = {spec_.file, begin + 5, begin + 8};
    made.span = {spec_.file, begin, opens ? place_ + 1 : begin + 9};
  }
  return at;
}

const sema::Spec& SpecBuilder::build(const Tokens& tokens) {
  place_ = 100;
  spec_.micro.operations.clear();
  spec_.update.operations.clear();
  spec_.micro.span = spec_.update.span = {spec_.file, 90, 95};
  read(tokens.all, 0, tokens.split, spec_.micro.operations);
  read(tokens.all, tokens.split, tokens.all.size(), spec_.update.operations);
  return spec_;
}

namespace {

void print(const std::vector<sema::Operation>& operations, std::ostream& out) {
  const char* separator = "";
  for (const sema::Operation& one : operations) {
    plan::Operation op = one.op;
    // The rule's hyper-parameters are the same in every program.
    op.rule.hyper.clear();
    if (op.kind == OpKind::step)
      op.rule.hyper.push_back({"lr", one.op.rule.hyper.front().value.operands.front()});
    out << separator << plan::to_text(op);
    separator = "; ";
    bool encloses = op.kind == OpKind::autocast || op.kind == OpKind::sync_on || op.kind == OpKind::when;
    if (!encloses) continue;
    out << " { ";
    print(one.body, out);
    out << " }";
  }
}

}  // namespace

std::string to_text(const sema::Spec& spec) {
  std::ostringstream out;
  out << "micro { ";
  print(spec.micro.operations, out);
  out << " }\nupdate { ";
  print(spec.update.operations, out);
  out << " }";
  return out.str();
}

}  // namespace loop::oracle
