#include "compiler/check/typestate/executor.h"

#include <algorithm>

#include "compiler/check/typestate/condition.h"

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
  bool open = false;          // there is a loss that no backward has used
  bool synchronises = false;  // decided where forward stands
  bool forward_in_sync_scope = false;
  int loss_scalings = 0;
  LossValue loss;
};

struct Scope {
  int micro = 0;
  bool autocast = false;
  bool rank_dependent = false;
  std::optional<plan::SyncOn> sync_on;
  const sema::Operation* guard = nullptr;
};

class Execution {
 public:
  Execution(const sema::Spec& spec, const Facts& facts, const Repairs& repairs, Choices& choices)
      : spec_(spec), facts_(facts), repairs_(repairs), choices_(choices) {}

  WindowTrace window(int index, const Scenario::Window& shape) {
    trace_ = WindowTrace{};
    trace_.window = index;
    trace_.kind = shape.kind;
    trace_.tail = shape.tail;
    trace_.micro_batches = shape.micro_batches;
    trace_.empty_micro = shape.empty_micro;
    verdict_.reset();
    unscale_gave_ = false;
    last_reduction_.reset();
    added_.assign(shape.micro_batches, 0);
    choices_.forget();
    // The fp16 loss scale is fixed anew before each window.
    ++scale_reading_;
    for (int micro = 1; micro <= shape.micro_batches; ++micro) micro_batch(micro);
    if (shape.kind == WindowKind::empty) {
      gradient_.clear();
    } else {
      update();
    }
    if (repairs_.zero_at_end) gradient_.clear();
    const bool same =
        std::all_of(added_.begin(), added_.end(), [&](int times) { return times == added_.front(); });
    trace_.times_added.assign(facts_.classes.size(), same ? added_.front() : 0);
    return std::move(trace_);
  }

 private:
  void micro_batch(int micro) {
    graph_ = Graph{};
    const size_t before = trace_.events.size();
    Scope scope;
    scope.micro = micro;
    run(spec_.micro.operations, scope);
    const bool has_backward =
        std::any_of(trace_.events.begin() + static_cast<std::ptrdiff_t>(before), trace_.events.end(),
                    [](const Event& event) { return event.operation->op.kind == OpKind::backward; });
    if (!has_backward && micro != trace_.empty_micro) trace_.backward_missing = true;
  }

  void update() {
    if (repairs_.reduce_before_update) gradient_.reduce(spec_.window.reduce.value, nullptr, true);
    run_moved(repairs_.to_update);
    run(spec_.update.operations, Scope{});
    run_moved(repairs_.to_end);
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
          inner.autocast = true;
          run(operation.body, inner);
          break;
        case OpKind::sync_on:
          inner.sync_on = operation.op.sync_on;
          run(operation.body, inner);
          break;
        case OpKind::when:
          if (condition_holds(operation.op.condition, scope.micro)) {
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

  bool condition_holds(const plan::Expression& condition, int micro) {
    const plan::Lookup lookup = [&](std::string_view name) -> std::optional<double> {
      if (name == "first") return micro <= 1;
      if (name == "last") return micro == 0 || micro == trace_.micro_batches;
      if (name == "finite" && verdict_) return *verdict_;
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
    event.in_autocast = scope.autocast;
    event.verdict = verdict_;
    if (entry.gradient_effect != GradientEffect::none || entry.verdict != Verdict::none)
      event.gradient = gradient_;
    event.need_met = graph_need_met(entry);
    if (event.need_met || repairs_.graph) {
      graph_effect(operation, entry, scope, event);
      gradient_effect(operation, entry);
    }
    if (entry.verdict == Verdict::gives) verdict_ = gradient_.finite();
    if (entry.verdict == Verdict::gives_and_obeys && !unscale_gave_) verdict_ = gradient_.finite();
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
        graph_ = Graph{};
        graph_.outputs = true;
        graph_.forward_in_sync_scope = scope.sync_on.has_value();
        graph_.synchronises = synchronises(scope);
        break;
      case GraphEffect::makes_loss:
        graph_.loss = loss_value(operation);
        graph_.loss_scalings = 0;
        graph_.open = true;
        ++added_.at(scope.micro > 0 ? scope.micro - 1 : 0);
        break;
      case GraphEffect::scales_loss:
        event.loss_scalings = graph_.loss_scalings;
        for (const plan::Power& power : operation.op.factor.powers) {
          if (power.symbol == plan::Power::Symbol::loss_scale) graph_.loss_scalings += power.exponent;
        }
        for (std::vector<Summand>& summands : graph_.loss.per_class) {
          check::multiply(summands, to_monomial(operation.op.factor, scale_reading_), &operation);
        }
        break;
      case GraphEffect::spends_loss:
        event.synchronises = graph_.synchronises;
        event.outside_sync_scope = scope.sync_on.has_value() && !graph_.forward_in_sync_scope;
        if (scope.micro != trace_.empty_micro || scope.micro == 0) {
          const bool nonfinite = trace_.kind == WindowKind::nonfinite && scope.micro == trace_.micro_batches;
          gradient_.add(trace_.window, scope.micro, graph_.loss, nonfinite);
        }
        if (graph_.synchronises) reduce(spec_.window.reduce.value, operation, canonical_every());
        // Autograd frees the graph: another backward needs another forward.
        graph_.outputs = graph_.open = false;
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
        break;
      case GradientEffect::zeroes:
        gradient_.clear();
        break;
    }
    if (operation.op.kind == OpKind::unscale) unscale_gave_ = true;
  }

  void reduce(plan::ReduceMode mode, const sema::Operation& operation, bool only_new) {
    last_reduction_ = mode;
    gradient_.reduce(mode, &operation, only_new);
  }

  Monomial factor_of(const sema::Operation& operation, const Entry& entry) const {
    switch (entry.factor_effect) {
      case FactorEffect::written:
        return to_monomial(operation.op.factor, scale_reading_);
      case FactorEffect::inverse_scale:
        return Monomial::of({Symbol::loss_scale, scale_reading_}, -1);
      case FactorEffect::world_over_count: {
        const Monomial inverse_count = Monomial::of({Symbol::count_global, 0, true}, -1);
        const std::optional<plan::ReduceMode> mode =
            last_reduction_ ? last_reduction_ : next_reduction(operation);
        return mode == plan::ReduceMode::mean ? Monomial::of({Symbol::ranks, 0}) * inverse_count
                                              : inverse_count;
      }
      case FactorEffect::none:
      case FactorEffect::loss_mode:
      case FactorEffect::reduction:
        break;
    }
    return Monomial();
  }

  /// The reduction after `operation` in the text, when none came before it on the path.
  std::optional<plan::ReduceMode> next_reduction(const sema::Operation& operation) const {
    bool passed = false;
    std::optional<plan::ReduceMode> mode;
    for (const sema::Operation* other : all_operations(spec_)) {
      if (passed && !mode && other->op.kind == OpKind::reduce && !repairs_.disabled.count(other))
        mode = other->op.reduce_mode;
      if (passed && !mode && other->op.kind == OpKind::backward &&
          spec_.window.sync.value != plan::Sync::manual) {
        mode = spec_.window.reduce.value;
      }
      passed = passed || other == &operation;
    }
    return mode;
  }

  const sema::Spec& spec_;
  const Facts& facts_;
  const Repairs& repairs_;
  Choices& choices_;
  WindowTrace trace_;
  Graph graph_;
  Gradient gradient_;
  std::vector<int> added_;
  std::optional<bool> verdict_;
  bool unscale_gave_ = false;
  std::optional<plan::ReduceMode> last_reduction_;
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
