#include "tests/oracle/program.h"

#include <algorithm>
#include <stdexcept>

#include "runtime/plan/names.h"

namespace loop::oracle {
namespace {

using plan::OpKind;

double number(const plan::Expression& expression, double updates) {
  auto value = plan::evaluate(expression, [&](std::string_view name) -> std::optional<double> {
    if (name == "updates") return updates;
    return std::nullopt;
  });
  if (!value) throw std::logic_error("the oracle's rules depend on `updates` alone");
  return *value;
}

class Compiler {
 public:
  Compiler(const sema::Spec& spec, Program& program) : spec_(spec), program_(program) {}

  void run() {
    program_ = Program{};
    facts();
    flatten(spec_.micro.operations, program_.micro, 0);
    flatten(spec_.update.operations, program_.update, 0);
    for (int g = 0; g < program_.groups; ++g)
      if (program_.rule_of[g] < 0) fail("a group is never stepped");
  }

 private:
  void fail(const char* why) {
    if (program_.error.empty()) program_.error = why;
  }

  void facts() {
    Program& p = program_;
    p.groups = static_cast<int>(spec_.groups.size());
    p.classes = static_cast<int>(spec_.count_classes.size());
    p.terms = static_cast<int>(spec_.terms.size());
    if (p.groups > kMaxGroups || p.classes > kMaxTerms || p.terms > kMaxTerms)
      throw std::logic_error("more groups, classes or terms than the oracle's model has");
    for (int c = 0; c < p.classes; ++c) {
      p.unit[c] = spec_.count_classes[c].unit;
      p.constant[c] = spec_.count_classes[c].constant;
      p.unit_name[c] = plan::name(p.unit[c]);
    }
    for (int t = 0; t < p.terms; ++t) {
      p.weight[t] = spec_.terms[t].term.weight;
      p.class_of[t] = spec_.terms[t].term.count_class;
    }
    const plan::Amp& amp = spec_.amp.value;
    p.fp16 = amp.mode == plan::AmpMode::fp16;
    if (p.fp16) {
      p.init_scale = amp.init_scale;
      p.growth = amp.growth_factor;
      p.backoff = amp.backoff_factor;
      p.min_scale = amp.min_scale;
      p.growth_interval = static_cast<int>(amp.growth_interval);
    }
    p.manual = spec_.window.sync.value == plan::Sync::manual;
    p.reduces_only_new = !spec_.micro.written && spec_.window.sync.value == plan::Sync::every;
    p.reduce = spec_.window.reduce.value;
    p.has_average = !spec_.averages.empty();
    if (p.has_average) p.ema_decay = number(spec_.averages[0].average.decay, 0);
  }

  unsigned mask(const std::vector<std::string>& names) {
    if (names.empty()) return (1U << program_.groups) - 1;
    unsigned bits = 0;
    for (size_t g = 0; g < spec_.groups.size(); ++g)
      if (std::find(names.begin(), names.end(), spec_.groups[g].group.name) != names.end()) bits |= 1U << g;
    return bits;
  }

  FlatFactor flat(const plan::Factor& factor) {
    FlatFactor result;
    result.number = factor.number;
    for (const plan::Power& power : factor.powers) {
      int c = std::max(power.count_class, 0);
      switch (power.symbol) {
        case plan::Power::Symbol::loss_scale:
          result.scale += power.exponent;
          break;
        case plan::Power::Symbol::micro_batches:
          result.configured += power.exponent;
          break;
        case plan::Power::Symbol::micro_batches_counted:
          result.counted += power.exponent;
          break;
        case plan::Power::Symbol::ranks:
          result.ranks += power.exponent;
          break;
        case plan::Power::Symbol::count_global:
          result.global[c] += power.exponent;
          break;
        case plan::Power::Symbol::count_rank:
          result.rank[c] += power.exponent;
          break;
        case plan::Power::Symbol::count_micro:
          result.micro[c] += power.exponent;
          break;
      }
    }
    return result;
  }

  int rule(const plan::StepRule& written) {
    for (size_t i = 0; i < keys_.size(); ++i)
      if (*keys_[i] == written) return static_cast<int>(i);
    Rule made;
    const plan::Expression* lr = written.find("lr");
    const plan::Expression* momentum = written.find("momentum");
    const plan::Expression* decay = written.find("weight_decay");
    if (lr && lr->kind == plan::Expression::Kind::constant)
      made.lr.fill(lr->value);
    else if (lr)
      for (size_t u = 0; u < made.lr.size(); ++u) made.lr[u] = number(*lr, static_cast<double>(u));
    if (momentum) made.momentum = number(*momentum, 0);
    if (decay) made.weight_decay = number(*decay, 0);
    keys_.push_back(&written);
    program_.rules.push_back(made);
    return static_cast<int>(keys_.size()) - 1;
  }

  int clock(const std::string& name) {
    if (name == "updates") return kUpdates;
    if (name == "attempts") return kAttempts;
    if (name == "micro_batches") return kMicroBatches;
    if (name == "tokens") return kTokens;
    if (name == "tokens_seen") return kTokensSeen;
    throw std::logic_error("the oracle does not follow the clock " + name);
  }

  // Two clips of one kind, or two steps, on one group must have the same arguments: else nobody can say what
  // the reference is.
  void take_clip(const Clip& clip) {
    for (const Clip& other : program_.clips) {
      if (other == clip) return;
      if (other.kind == clip.kind && (other.groups & clip.groups))
        fail("two clips of one kind on one group with different arguments");
    }
    program_.clips.push_back(clip);
  }
  void take_step(unsigned groups, int rule) {
    for (int g = 0; g < program_.groups; ++g) {
      if (!(groups >> g & 1)) continue;
      if (program_.rule_of[g] >= 0 && program_.rule_of[g] != rule)
        fail("two steps on one group with different arguments");
      program_.rule_of[g] = rule;
    }
  }

  void flatten(const std::vector<sema::Operation>& operations, std::vector<Instruction>& out,
               int inside_sync) {
    for (const sema::Operation& operation : operations) {
      const plan::Operation& op = operation.op;
      Instruction made;
      made.kind = op.kind;
      switch (op.kind) {
        case OpKind::loss:
          made.loss_mode = op.loss_mode;
          break;
        case OpKind::scale_loss:
        case OpKind::scale_grad:
          made.factor = flat(op.factor);
          break;
        case OpKind::reduce:
          made.reduce_mode = op.reduce_mode;
          if (!program_.manual) fail("reduce without sync = manual");
          break;
        case OpKind::normalize:
          if (program_.classes > 1) fail("normalize with several count classes");
          break;
        case OpKind::clip_norm:
        case OpKind::clip_value:
          made.limit = number(op.limit, 0);
          made.groups = mask(op.groups);
          take_clip({op.kind, made.limit, made.groups});
          break;
        case OpKind::step:
          made.groups = mask(op.groups);
          made.rule = rule(op.rule);
          take_step(made.groups, made.rule);
          break;
        case OpKind::update_scale:
          program_.updates_scale = true;
          break;
        case OpKind::tick:
          made.clock = clock(op.target);
          program_.names_clock[made.clock] = true;
          break;
        case OpKind::average:
          program_.names_average = true;
          break;
        case OpKind::sync_on:
          made.sync_on = op.sync_on;
          if (inside_sync) fail("sync_on inside sync_on");
          break;
        case OpKind::when:
          made.condition = &op.condition;
          break;
        default:
          break;
      }
      bool encloses = op.kind == OpKind::autocast || op.kind == OpKind::sync_on || op.kind == OpKind::when;
      size_t start = out.size();
      out.push_back(made);
      if (!encloses) continue;
      flatten(operation.body, out, inside_sync || op.kind == OpKind::sync_on);
      out[start].end = static_cast<int>(out.size());
      Instruction closing;
      closing.kind = op.kind;
      closing.closes = true;
      out.push_back(closing);
    }
  }

  const sema::Spec& spec_;
  Program& program_;
  std::vector<const plan::StepRule*> keys_;
};

}  // namespace

void compile(const sema::Spec& spec, Program& program) {
  Compiler(spec, program).run();
}

}  // namespace loop::oracle
