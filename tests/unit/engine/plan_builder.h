// Plans for tests, made without the compiler: a tiny FP64 model on sequences in memory, to be changed by each
// test.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"

namespace loop::testing {

using plan::Expression;
using plan::Operation;
using plan::OpKind;

inline Expression constant(double value) {
  return Expression::constant(value);
}
inline Expression clock(const std::string& name) {
  return Expression::variable(name);
}

inline Operation operation(OpKind kind, std::vector<Operation> body = {}) {
  Operation result;
  result.kind = kind;
  result.body = std::move(body);
  return result;
}
inline Operation loss(plan::LossMode mode) {
  Operation result = operation(OpKind::loss);
  result.loss_mode = mode;
  return result;
}
inline plan::Power power(plan::Power::Symbol symbol, int exponent, int count_class = 0) {
  return {symbol, count_class, "tokens", exponent};
}
inline Operation scale(OpKind kind, double number, std::vector<plan::Power> powers = {}) {
  Operation result = operation(kind);
  result.factor = {number, std::move(powers)};
  return result;
}
inline Operation clip_norm(double limit, std::vector<std::string> groups = {}) {
  Operation result = operation(OpKind::clip_norm);
  result.limit = constant(limit);
  result.groups = std::move(groups);
  return result;
}
inline Operation clip_value(double limit) {
  Operation result = operation(OpKind::clip_value);
  result.limit = constant(limit);
  return result;
}
inline Operation when(Expression condition, std::vector<Operation> body) {
  Operation result = operation(OpKind::when, std::move(body));
  result.condition = std::move(condition);
  return result;
}
inline Operation step(const std::string& optimizer, std::vector<plan::NamedExpression> hyper,
                      std::vector<std::string> groups = {}) {
  Operation result = operation(OpKind::step);
  result.rule = {optimizer, std::move(hyper)};
  result.groups = std::move(groups);
  return result;
}
inline Operation sgd(Expression lr, double momentum = 0, std::vector<std::string> groups = {}) {
  return step("std.optimizers.sgd",
              {{"lr", std::move(lr)},
               {"momentum", constant(momentum)},
               {"dampening", constant(0)},
               {"nesterov", constant(0)},
               {"weight_decay", constant(0)}},
              std::move(groups));
}
inline Operation sgd(double lr, double momentum = 0, std::vector<std::string> groups = {}) {
  return sgd(constant(lr), momentum, std::move(groups));
}
inline Operation adamw(double lr, std::vector<std::string> groups = {}) {
  return step("std.optimizers.adamw",
              {{"lr", constant(lr)},
               {"beta1", constant(0.9)},
               {"beta2", constant(0.99)},
               {"eps", constant(1e-8)},
               {"weight_decay", constant(0.1)}},
              std::move(groups));
}

/// The micro-batch as the compiler writes it, with the given form of the loss.
inline std::vector<Operation> canonical_micro(plan::LossMode mode = plan::LossMode::sum) {
  return {operation(OpKind::sync_on, {operation(OpKind::autocast, {operation(OpKind::forward), loss(mode)}),
                                      operation(OpKind::backward)})};
}

inline plan::StopCondition reached(plan::Clock unit, double value) {
  plan::StopCondition stop;
  stop.limit = {unit, value};
  return stop;
}

inline plan::LossTerm term(const std::string& name, const std::string& loss, double weight = 1,
                           int count_class = 0, plan::json args = plan::json::object()) {
  plan::LossTerm result;
  result.name = name;
  result.weight = weight;
  result.component = {loss, std::move(args)};
  result.count_class = count_class;
  return result;
}

/// test_tiny in FP64 on the source "train", sequential order, cross entropy per tokens, windows of 2
/// micro-batches of 2 samples, plain SGD.
inline plan::Plan tiny_plan() {
  plan::Plan plan;
  plan.loop_name = "tiny";
  plan.seed = 7;
  plan.dtype = plan::Dtype::fp64;
  plan.model = {"test_tiny", plan::json::object()};
  plan.data.sources = {{"train", {"memory", plan::json::object()}}};
  plan.data.train = "train";
  plan.data.micro_batch_samples = 2;
  plan.data.order = plan::Order::sequential;
  plan.count_classes = {{plan::CountUnit::tokens, 1, std::nullopt, std::nullopt}};
  plan.terms = {term("main", "cross_entropy")};
  plan.window.size.value = 2;
  plan.window.tail = plan::Tail::flush;
  plan.micro = canonical_micro();
  plan.update = {operation(OpKind::normalize), sgd(0.5), operation(OpKind::zero_grad)};
  plan.stop = {reached(plan::Clock::updates, 4)};
  return plan;
}

}  // namespace loop::testing
