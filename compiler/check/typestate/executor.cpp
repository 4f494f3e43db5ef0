#include "compiler/check/typestate/executor.h"

#include <algorithm>

#include "compiler/check/typestate/condition.h"
#include "compiler/check/typestate/divisions.h"

namespace loop::check {
namespace {

using operations::Entry;
using operations::FactorEffect;
using operations::GradientEffect;
using operations::GraphEffect;
using operations::GraphNeed;
using operations::Verdict;
using plan::OpKind;

/// One micro-batch's graph.
struct Graph {
  bool outputs = false;
  bool open = false;                  // there is a loss
  bool closed = false;                // backward has been here
  bool forward_synchronises = false;  // decided where forward stands
  bool forward_in_scope = false;
  bool loss_synchronises = false;  // of the forward that the loss was taken from
  bool loss_in_scope = false;
  LossValue loss;
  const sema::Operation* spoiled_by = nullptr;  // a division by a count that may be zero
};

struct Scope {
  int micro = 0;
  bool rank_dependent = false;
  std::optional<plan::SyncOn> sync_on;
  const sema::Operation* guard = nullptr;
};

class Execution {
 public:
  Execution(const sema::Spec& spec, const Facts& facts, const Repairs& repairs, Choices& choices)
      : spec_(spec), facts_(facts), repairs_(repairs), choices_(choices) {
    for (const sema::Operation* operation : all_operations(spec)) {
      normalizes_ = normalizes_ || operation->op.kind == OpKind::normalize;
    }
  }

  WindowTrace window(int index, const Scenario::Window& shape) {
    choices_.forget();
    if (!normalizes_) {
      run_window(index, shape);
      return std::move(trace_);
    }
    // A `normalize` before any reduction has to know the next one: the window is then run again, knowing
    // where it reduces.
    Execution before = *this;
    run_window(index, shape);
    if (!asked_ahead_) return std::move(trace_);
    before.foreseen_ = std::move(reductions_);
    before.run_window(index, shape);
    take_over(std::move(before));
    return std::move(trace_);
  }

 private:
  void take_over(Execution&& other) {
    trace_ = std::move(other.trace_);
    gradient_ = std::move(other.gradient_);
    scale_reading_ = other.scale_reading_;
  }

  void run_window(int index, const Scenario::Window& shape) {
    trace_ = WindowTrace{};
    trace_.window = index;
    trace_.kind = shape.kind;
    trace_.tail = shape.tail;
    trace_.micro_batches = shape.micro_batches;
    trace_.empty_micro = shape.empty_micro;
    if (shape.kind == WindowKind::nonfinite)
      trace_.nonfinite_micro = shape.nonfinite_micro > 0 ? shape.nonfinite_micro : shape.micro_batches;
    unscale_verdict_.reset();
    unscale_spoiled_by_ = step_spoiled_by_ = nullptr;
    step_verdict_.reset();
    touched_ = false;
    reductions_.clear();
    asked_ahead_ = false;
    // The fp16 loss scale is fixed anew before each window.
    ++scale_reading_;
    for (int micro = 1; micro <= shape.micro_batches; ++micro) micro_batch(micro);
    if (shape.kind == WindowKind::empty) {
      gradient_.clear();
    } else {
      update();
    }
    if (repairs_.zero_at_end) gradient_.clear();
    trace_.applied = step_verdict_.value_or(false);
  }

  void micro_batch(int micro) {
    graph_ = Graph{};
    Scope scope;
    scope.micro = micro;
    run(spec_.micro.operations, scope);
  }

  void update() {
    if (repairs_.reduce_before_update) {
      // In the way the program reduces elsewhere, so that `normalize` is not taken for wrong as well.
      const plan::ReduceMode mode = repaired_reduction();
      reductions_.push_back(mode);
      gradient_.reduce(mode, nullptr, true, facts_.one_rank());
    }
    run_moved(repairs_.to_update);
    run(spec_.update.operations, Scope{});
    run_moved(repairs_.to_end);
  }

  plan::ReduceMode repaired_reduction() const {
    if (!reductions_.empty()) return reductions_.back();
    for (const sema::Operation* operation : all_operations(spec_))
      if (operation->op.kind == OpKind::reduce) return operation->op.reduce_mode;
    return spec_.window.reduce.value;
  }

  static bool contains(const std::vector<const sema::Operation*>& operations,
                       const sema::Operation* operation) {
    return std::find(operations.begin(), operations.end(), operation) != operations.end();
  }

  void run_moved(const std::vector<const sema::Operation*>& moved) {
    for (const sema::Operation* operation : moved) apply(*operation, Scope{});
  }

  void run(const std::vector<sema::Operation>& operations, const Scope& scope) {
    for (const sema::Operation& operation : operations) {
      if (repairs_.disabled.count(&operation) || contains(repairs_.to_update, &operation) ||
          contains(repairs_.to_end, &operation)) {
        continue;
      }
      Scope inner = scope;
      switch (operation.op.kind) {
        case OpKind::autocast:
          run(operation.body, inner);
          break;
        case OpKind::sync_on:
          inner.sync_on = operation.op.sync_on;
          run(operation.body, inner);
          break;
        case OpKind::when:
          if (condition_holds(operation, scope.micro)) {
            inner.guard = &operation;
            inner.rank_dependent = inner.rank_dependent || can_differ_between_ranks(operation.op.condition);
            run(operation.body, inner);
          }
          break;
        default:
          apply(operation, scope);
      }
    }
  }

  const sema::Operation* verdict_spoiled_by() const {
    return unscale_verdict_ ? unscale_spoiled_by_ : step_spoiled_by_;
  }
  std::optional<bool> verdict() const { return unscale_verdict_ ? unscale_verdict_ : step_verdict_; }

  bool condition_holds(const sema::Operation& guard, int micro) {
    const plan::Expression& condition = guard.op.condition;
    const int of = micro == 0 ? trace_.micro_batches : micro;
    const plan::Lookup lookup = [&](std::string_view name) -> std::optional<double> {
      if (name == "first") return of == 1;
      if (name == "last") return of == trace_.micro_batches;
      if (name == "finite") {
        if (const std::optional<bool> known = verdict()) return *known;
        if (!trace_.undecided && !repairs_.excused.count(&guard)) trace_.undecided = &guard;
        return 1;
      }
      const bool count = name.ends_with(".global") || name.ends_with(".rank") || name.ends_with(".micro");
      if (count && trace_.kind == WindowKind::empty) return 0;
      if (name.ends_with(".micro") && micro != 0 && micro == trace_.empty_micro) return 0;
      return std::nullopt;
    };
    if (const std::optional<bool> sign = count_comparison(condition, lookup)) return *sign;
    // What is asked of a clock that moves within the window, or of a micro-batch's count, is asked anew for
    // each micro-batch.
    std::string moment;
    for (const std::string& variable : plan::variables(condition)) {
      if (variable == "micro_batches" || variable.ends_with(".micro")) moment = "#" + std::to_string(micro);
    }
    return holds(condition, lookup, choices_, moment);
  }

  /// `tokens.global > 0` and its like: a count is positive wherever it is not known to be zero.
  static std::optional<bool> count_comparison(const plan::Expression& condition, const plan::Lookup& lookup) {
    using Kind = plan::Expression::Kind;
    if (condition.kind != Kind::apply || condition.operands.size() != 2) return std::nullopt;
    const plan::Expression& left = condition.operands[0];
    const plan::Expression& right = condition.operands[1];
    const bool count =
        left.kind == Kind::variable &&
        (left.name.ends_with(".global") || left.name.ends_with(".rank") || left.name.ends_with(".micro"));
    if (!count || right.kind != Kind::constant || right.value != 0 || lookup(left.name)) return std::nullopt;
    if (condition.name == ">" || condition.name == "!=" || condition.name == ">=") return true;
    if (condition.name == "==" || condition.name == "<=" || condition.name == "<") return false;
    return std::nullopt;
  }

  void apply(const sema::Operation& operation, const Scope& scope) {
    const Entry& entry = operations::entry(operation.op.kind);
    Event event;
    event.operation = &operation;
    event.entry = &entry;
    event.micro = scope.micro;
    event.guard = scope.guard;
    event.rank_dependent = scope.rank_dependent;
    event.touched = touched_;
    event.closed = graph_.closed;
    event.verdict = verdict();
    event.verdict_spoiled_by = verdict_spoiled_by();
    if (entry.gradient_effect != GradientEffect::none || entry.verdict != Verdict::none)
      event.gradient = gradient_;
    event.need_met = graph_need_met(entry);
    if (event.need_met || repairs_.graph) {
      graph_effect(operation, entry, scope, event);
      gradient_effect(operation, entry);
    }
    if (entry.verdict == Verdict::gives) {
      unscale_verdict_ = gradient_.finite();
      unscale_spoiled_by_ = gradient_.spoiled_by();
    }
    // One verdict for all steps of a window: once one of them has found the gradient not finite, none is
    // applied.
    if (entry.verdict == Verdict::gives_and_obeys) {
      step_verdict_ = step_verdict_.value_or(true) && gradient_.finite();
      if (!step_spoiled_by_) step_spoiled_by_ = gradient_.spoiled_by();
    }
    if (entry.verdict == Verdict::needs) ++scale_reading_;
    trace_.events.push_back(std::move(event));
  }

  bool graph_need_met(const Entry& entry) const {
    switch (entry.graph_need) {
      case GraphNeed::nothing:
        return true;
      case GraphNeed::outputs:
        return graph_.outputs;
      case GraphNeed::loss:
        return graph_.open;
    }
    return true;
  }

  void graph_effect(const sema::Operation& operation, const Entry& entry, const Scope& scope, Event& event) {
    switch (entry.graph_effect) {
      case GraphEffect::none:
        break;
      case GraphEffect::makes_outputs:
        graph_.outputs = true;
        graph_.forward_in_scope = scope.sync_on.has_value();
        graph_.forward_synchronises = synchronises(scope);
        break;
      case GraphEffect::makes_loss:
        graph_.open = true;
        graph_.loss = loss_value(operation);
        graph_.spoiled_by = nullptr;
        graph_.loss_in_scope = graph_.forward_in_scope;
        graph_.loss_synchronises = graph_.forward_synchronises;
        break;
      case GraphEffect::scales_loss:
        for (std::vector<Summand>& summands : graph_.loss.per_class) {
          check::multiply(summands, to_monomial(operation.op.factor, scale_reading_), &operation);
        }
        if (divides(operation)) graph_.spoiled_by = &operation;
        break;
      case GraphEffect::spends_loss:
        graph_.closed = touched_ = true;
        event.synchronises = graph_.loss_synchronises;
        event.outside_sync_scope = scope.sync_on.has_value() && !graph_.loss_in_scope;
        if (scope.micro != trace_.empty_micro || scope.micro == 0) {
          const bool nonfinite = scope.micro != 0 && scope.micro == trace_.nonfinite_micro;
          gradient_.add(trace_.window, scope.micro, graph_.loss, nonfinite);
        }
        if (graph_.spoiled_by) gradient_.spoil(graph_.spoiled_by);
        if (graph_.loss_synchronises) reduce(spec_.window.reduce.value, operation, canonical_every());
        break;
    }
  }

  bool synchronises(const Scope& scope) const {
    if (spec_.window.sync.value == plan::Sync::manual) return false;
    if (!scope.sync_on) return true;
    switch (*scope.sync_on) {
      case plan::SyncOn::last:
        return scope.micro == trace_.micro_batches;
      case plan::SyncOn::first:
        return scope.micro == 1;
      case plan::SyncOn::every:
        return true;
      case plan::SyncOn::none:
        return false;
    }
    return true;
  }

  bool canonical_every() const {
    return !spec_.micro.written && spec_.window.sync.value == plan::Sync::every;
  }

  LossValue loss_value(const sema::Operation& operation) const {
    LossValue value;
    for (size_t count_class = 0; count_class < facts_.classes.size(); ++count_class) {
      const int index = static_cast<int>(count_class);
      Monomial factor;
      if (operation.op.loss_mode == plan::LossMode::mean)
        factor = Monomial::of({Symbol::count_micro, index}, -1);
      if (operation.op.loss_mode == plan::LossMode::normalized)
        factor = Monomial::of({Symbol::count_global, index}, -1);
      value.per_class.push_back({Summand{factor, {{&operation, factor}}}});
    }
    return value;
  }

  void gradient_effect(const sema::Operation& operation, const Entry& entry) {
    switch (entry.gradient_effect) {
      case GradientEffect::none:
      case GradientEffect::accumulates:  // with the graph it closes
      case GradientEffect::clips:  // the comparison judges its place; what it does in the right place, the
                                   // reference does
      case GradientEffect::applies:
        break;
      case GradientEffect::reduces:
        reduce(operation.op.reduce_mode, operation, false);
        break;
      case GradientEffect::multiplies:
        gradient_.multiply(factor_of(operation, entry), &operation);
        if (divides(operation)) gradient_.spoil(&operation);
        break;
      case GradientEffect::zeroes:
        gradient_.clear();
        break;
    }
  }

  /// By a count that is zero in this window: both are tried where it can be.
  bool divides(const sema::Operation& operation) {
    return trace_.kind == WindowKind::normal && !repairs_.factor && !repairs_.excused.count(&operation) &&
           divides_by_empty_count(operation.op.factor, facts_) &&
           choices_.decide(plan::to_text(operation.op.factor) + " divides by zero");
  }

  void reduce(plan::ReduceMode mode, const sema::Operation& operation, bool only_new) {
    reductions_.push_back(mode);
    gradient_.reduce(mode, &operation, only_new, facts_.one_rank());
  }

  /// Of the nearest reduction before now in this window, if none of the next one; a sum when there is none at
  /// all.
  plan::ReduceMode nearest_reduction() {
    if (!reductions_.empty()) return reductions_.back();
    asked_ahead_ = true;
    return foreseen_.empty() ? plan::ReduceMode::sum : foreseen_.front();
  }

  Monomial factor_of(const sema::Operation& operation, const Entry& entry) {
    switch (entry.factor_effect) {
      case FactorEffect::written:
        return to_monomial(operation.op.factor, scale_reading_);
      case FactorEffect::inverse_scale:
        return Monomial::of({Symbol::loss_scale, scale_reading_}, -1);
      case FactorEffect::world_over_count: {
        const Monomial inverse_count = Monomial::of({Symbol::count_global, 0}, -1);
        const bool mean = nearest_reduction() == plan::ReduceMode::mean;
        return mean ? Monomial::of({Symbol::ranks, 0}) * inverse_count : inverse_count;
      }
      case FactorEffect::none:
      case FactorEffect::loss_mode:
      case FactorEffect::reduction:
        break;
    }
    return Monomial();
  }

  const sema::Spec& spec_;
  const Facts& facts_;
  const Repairs& repairs_;
  Choices& choices_;
  bool normalizes_ = false;                   // a `normalize` asks for the window's reductions
  std::vector<plan::ReduceMode> reductions_;  // of this window so far
  std::vector<plan::ReduceMode> foreseen_;    // of the whole window, when it is run again
  bool asked_ahead_ = false;
  WindowTrace trace_;
  Graph graph_;
  Gradient gradient_;
  bool touched_ = false;
  std::optional<bool> unscale_verdict_;
  std::optional<bool> step_verdict_;
  const sema::Operation* unscale_spoiled_by_ = nullptr;
  const sema::Operation* step_spoiled_by_ = nullptr;
  int scale_reading_ = 0;
};

}  // namespace

std::vector<WindowTrace> execute(const sema::Spec& spec, const Facts& facts, const Scenario& scenario,
                                 const Repairs& repairs, Choices& choices) {
  Execution execution(spec, facts, repairs, choices);
  std::vector<WindowTrace> traces;
  for (size_t index = 0; index < scenario.windows.size(); ++index) {
    traces.push_back(execution.window(static_cast<int>(index), scenario.windows[index]));
  }
  return traces;
}

std::vector<const sema::Operation*> all_operations(const sema::Spec& spec) {
  std::vector<const sema::Operation*> all;
  const auto add = [&](const sema::Operation& operation) { all.push_back(&operation); };
  for_each_operation(spec.micro.operations, add);
  for_each_operation(spec.update.operations, add);
  return all;
}

}  // namespace loop::check
