#include "runtime/plan/operation.h"

#include "runtime/plan/names.h"

namespace loop::plan {
namespace {

std::string symbol_text(const Power& power) {
  switch (power.symbol) {
    case Power::Symbol::loss_scale:
      return "loss_scale";
    case Power::Symbol::micro_batches:
      return "micro_batches";
    case Power::Symbol::micro_batches_counted:
      return "micro_batches.counted";
    case Power::Symbol::ranks:
      return "ranks";
    case Power::Symbol::count_global:
      return power.unit + ".global";
    case Power::Symbol::count_rank:
      return power.unit + ".rank";
    case Power::Symbol::count_micro:
      return power.unit + ".micro";
  }
  return "?";
}

std::string on_groups(const std::vector<std::string>& groups) {
  std::string out;
  for (const std::string& group : groups) out += (out.empty() ? " on " : ", ") + group;
  return out;
}

std::string rule_text(const StepRule& rule) {
  const size_t last_dot = rule.optimizer.rfind('.');
  std::string out = last_dot == std::string::npos ? rule.optimizer : rule.optimizer.substr(last_dot + 1);
  out += '(';
  for (size_t i = 0; i < rule.hyper.size(); ++i) {
    if (i > 0) out += ", ";
    out += rule.hyper[i].name + ": " + to_text(rule.hyper[i].value);
  }
  return out + ')';
}

}  // namespace

const Expression* StepRule::find(const std::string& name) const {
  for (const NamedExpression& entry : hyper) {
    if (entry.name == name) return &entry.value;
  }
  return nullptr;
}

std::string to_text(const Factor& factor) {
  std::string above;
  std::string below;
  const auto append = [](std::string& side, const std::string& text, int exponent) {
    if (!side.empty()) side += " * ";
    side += text;
    if (exponent > 1) side += "^" + std::to_string(exponent);
  };
  for (const Power& power : factor.powers) {
    if (power.exponent > 0) append(above, symbol_text(power), power.exponent);
    if (power.exponent < 0) append(below, symbol_text(power), -power.exponent);
  }
  std::string out;
  if (factor.number != 1 || above.empty()) out = number_text(factor.number);
  if (!above.empty()) out += (out.empty() ? "" : " * ") + above;
  if (below.empty()) return out;
  const bool several = below.find(" * ") != std::string::npos;
  return out + " / " + (several ? "(" + below + ")" : below);
}

std::string to_text(const Place& place) {
  return place.file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

const char* name(OpKind kind) {
  const bool clip = kind == OpKind::clip_norm || kind == OpKind::clip_value;
  return clip ? "clip" : spelling(kind);
}
const char* name(LossMode mode) {
  return spelling(mode);
}
const char* name(ReduceMode mode) {
  return spelling(mode);
}
const char* name(SyncOn mode) {
  return spelling(mode);
}

std::string to_text(const Operation& operation) {
  const std::string word = name(operation.kind);
  switch (operation.kind) {
    case OpKind::loss:
      return operation.loss_mode == LossMode::sum ? word : word + "(" + name(operation.loss_mode) + ")";
    case OpKind::scale_loss:
    case OpKind::scale_grad:
      return word + "(" + to_text(operation.factor) + ")";
    case OpKind::sync_on:
      return word + "(" + name(operation.sync_on) + ")";
    case OpKind::reduce:
      return word + "(" + name(operation.reduce_mode) + ")";
    case OpKind::clip_norm:
      return word + "(norm: " + to_text(operation.limit) + ")" + on_groups(operation.groups);
    case OpKind::clip_value:
      return word + "(value: " + to_text(operation.limit) + ")" + on_groups(operation.groups);
    case OpKind::step:
      return word + " " + rule_text(operation.rule) + on_groups(operation.groups);
    case OpKind::tick:
    case OpKind::average:
      return word + " " + operation.target;
    case OpKind::when:
      return word + " " + to_text(operation.condition);
    default:
      return word;
  }
}

}  // namespace loop::plan
