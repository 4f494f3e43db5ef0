#include "runtime/plan/json.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <type_traits>

#include "runtime/plan/names.h"

namespace loop::plan {
namespace {

// Each struct lists its members once, in `fields`; a Writer and a Reader walk the same list.

class Writer;
class Reader;

template <class T>
json write(const T& value);
template <class T>
void read(const json& document, T& value, const std::string& where);

template <class A>
void fields(A& a, Expression& e) {
  a("kind", e.kind);
  a("value", e.value);
  a("name", e.name);
  a("operands", e.operands);
}
template <class A>
void fields(A& a, NamedExpression& e) {
  a("name", e.name);
  a("value", e.value);
}
template <class A>
void fields(A& a, StepRule& r) {
  a("optimizer", r.optimizer);
  a("hyper", r.hyper);
}
template <class A>
void fields(A& a, UpdateRule::Statement& s) {
  a("kind", s.kind);
  a("target", s.target);
  a("value", s.value);
}
template <class A>
void fields(A& a, UpdateRule& r) {
  a("name", r.name);
  a("hyper", r.hyper);
  a("states", r.states);
  a("statements", r.statements);
}
template <class A>
void fields(A& a, Power& p) {
  a("symbol", p.symbol);
  a("count_class", p.count_class);
  a("unit", p.unit);
  a("exponent", p.exponent);
}
template <class A>
void fields(A& a, Factor& f) {
  a("number", f.number);
  a("powers", f.powers);
}
template <class A>
void fields(A& a, Place& p) {
  a("file", p.file);
  a("line", p.line);
  a("column", p.column);
}
template <class A>
void fields(A& a, Operation& o) {
  a("op", o.kind);
  a("loss_mode", o.loss_mode);
  a("factor", o.factor);
  a("sync_on", o.sync_on);
  a("reduce_mode", o.reduce_mode);
  a("limit", o.limit);
  a("groups", o.groups);
  a("rule", o.rule);
  a("target", o.target);
  a("condition", o.condition);
  a("body", o.body);
  a("folded", o.folded);
  a("zeroes", o.zeroes);
  a("place", o.place);
}
template <class A>
void fields(A& a, Component& c) {
  a("name", c.name);
  a("args", c.args);
}
template <class A>
void fields(A& a, Source& s) {
  a("name", s.name);
  a("component", s.component);
}
template <class A>
void fields(A& a, Data& d) {
  a("sources", d.sources);
  a("train", d.train);
  a("micro_batch_samples", d.micro_batch_samples);
  a("micro_batch_auto", d.micro_batch_auto);
  a("order", d.order);
  a("short", d.short_policy);
  a("uneven", d.uneven);
}
template <class A>
void fields(A& a, Predicate& p) {
  a("kind", p.kind);
  a("glob", p.glob);
  a("comparison", p.comparison);
  a("ndim", p.ndim);
  a("operands", p.operands);
}
template <class A>
void fields(A& a, Group& g) {
  a("name", g.name);
  a("predicate", g.predicate);
  a("frozen", g.frozen);
  a("place", g.place);
}
template <class A>
void fields(A& a, CountClass& c) {
  a("unit", c.unit);
  a("constant", c.constant);
  a("ignore", c.ignore);
  a("at_least", c.at_least);
}
template <class A>
void fields(A& a, LossTerm& t) {
  a("name", t.name);
  a("weight", t.weight);
  a("component", t.component);
  a("count_class", t.count_class);
  a("place", t.place);
}
template <class A>
void fields(A& a, Amp& m) {
  a("mode", m.mode);
  a("init_scale", m.init_scale);
  a("growth_factor", m.growth_factor);
  a("backoff_factor", m.backoff_factor);
  a("growth_interval", m.growth_interval);
  a("min_scale", m.min_scale);
}
template <class A>
void fields(A& a, WindowSize::Ramp& r) {
  a("from", r.from);
  a("over_clock", r.over_clock);
  a("over", r.over);
}
template <class A>
void fields(A& a, WindowSize& w) {
  a("unit", w.unit);
  a("value", w.value);
  a("ramp", w.ramp);
}
template <class A>
void fields(A& a, Window& w) {
  a("size", w.size);
  a("sync", w.sync);
  a("reduce", w.reduce);
  a("tail", w.tail);
  a("empty", w.empty);
  a("oom", w.oom);
  a("compress", w.compress);
}
template <class A>
void fields(A& a, Nonfinite& n) {
  a("action", n.action);
  a("limit", n.limit);
}
template <class A>
void fields(A& a, Trigger& t) {
  a("clock", t.clock);
  a("value", t.value);
}
template <class A>
void fields(A& a, StopCondition& s) {
  a("kind", s.kind);
  a("limit", s.limit);
  a("metric", s.metric);
  a("patience_evaluations", s.patience_evaluations);
  a("place", s.place);
}
template <class A>
void fields(A& a, Average& v) {
  a("name", v.name);
  a("decay", v.decay);
  a("buffers", v.buffers);
}
template <class A>
void fields(A& a, Evaluation& e) {
  a("name", e.name);
  a("source", e.source);
  a("every", e.every);
  a("limit_micro_batches", e.limit_micro_batches);
  a("metrics", e.metrics);
  a("at_start", e.at_start);
  a("at_end", e.at_end);
  a("with", e.with);
}
template <class A>
void fields(A& a, Keep& k) {
  a("last", k.last);
  a("best_metric", k.best_metric);
}
template <class A>
void fields(A& a, Checkpoint& c) {
  a("path", c.path);
  a("every", c.every);
  a("keep", c.keep);
  a("on_signal", c.on_signal);
}
template <class A>
void fields(A& a, Log& l) {
  a("enabled", l.enabled);
  a("path", l.path);
  a("every", l.every);
}
template <class A>
void fields(A& a, SpecFile& s) {
  a("path", s.path);
  a("hash", s.hash);
}
template <class A>
void fields(A& a, Plan& p) {
  a("loop_name", p.loop_name);
  a("base_dir", p.base_dir);
  a("spec_files", p.spec_files);
  a("overrides", p.overrides);
  a("resolved_spec", p.resolved_spec);
  a("seed", p.seed);
  a("device", p.device);
  a("ranks", p.ranks);
  a("dtype", p.dtype);
  a("accumulate", p.accumulate);
  a("memory_bytes", p.memory_bytes);
  a("model", p.model);
  a("init_weights", p.init_weights);
  a("batch_norm", p.batch_norm);
  a("data", p.data);
  a("groups", p.groups);
  a("count_classes", p.count_classes);
  a("terms", p.terms);
  a("amp", p.amp);
  a("window", p.window);
  a("nonfinite", p.nonfinite);
  a("micro", p.micro);
  a("update", p.update);
  a("rules", p.rules);
  a("canonical_micro", p.canonical_micro);
  a("canonical_update", p.canonical_update);
  a("averages", p.averages);
  a("stop", p.stop);
  a("evaluations", p.evaluations);
  a("checkpoint", p.checkpoint);
  a("resume", p.resume);
  a("log", p.log);
  a("check_replicas_updates", p.check_replicas_updates);
}

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

class Writer {
 public:
  template <class T>
  void operator()(const char* name, const T& value) {
    document_[name] = write(value);
  }
  json take() { return std::move(document_); }

 private:
  json document_ = json::object();
};

class Reader {
 public:
  Reader(const json& document, std::string where) : document_(document), where_(std::move(where)) {
    if (!document.is_object()) throw PlanError("the plan is incomplete: " + where_ + " is not an object");
  }
  template <class T>
  void operator()(const char* name, T& value) {
    const std::string where = where_ + "." + name;
    const auto found = document_.find(name);
    if (found == document_.end()) throw PlanError("the plan is incomplete: " + where + " is missing");
    known_.insert(name);
    read(*found, value, where);
  }
  /// What the plan says and this version does not know must not be ignored.
  void finish() const {
    for (const auto& [name, value] : document_.items()) {
      if (known_.count(name) == 0) throw PlanError("the plan has an unknown entry: " + where_ + "." + name);
    }
  }

 private:
  const json& document_;
  std::string where_;
  std::set<std::string> known_;
};

// JSON has no infinities; a schedule or threshold may.
json write_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double read_number(const json& document) {
  if (document.is_string()) {
    const auto text = document.get<std::string>();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  }
  return document.get<double>();
}

template <class T>
json write(const T& value) {
  if constexpr (std::is_same_v<T, double>) {
    return write_number(value);
  } else if constexpr (std::is_enum_v<T>) {
    return spelling(value);
  } else if constexpr (std::is_same_v<T, json> || std::is_same_v<T, std::string> || std::is_arithmetic_v<T>) {
    return value;
  } else if constexpr (IsOptional<T>::value) {
    return value ? write(*value) : json(nullptr);
  } else if constexpr (IsVector<T>::value) {
    json out = json::array();
    for (const auto& element : value) out.push_back(write(element));
    return out;
  } else {
    Writer writer;
    fields(writer, const_cast<T&>(value));  // `fields` serves reading too; a Writer only looks
    return writer.take();
  }
}

template <class T>
void read(const json& document, T& value, const std::string& where) {
  try {
    if constexpr (std::is_same_v<T, double>) {
      value = read_number(document);
    } else if constexpr (std::is_enum_v<T>) {
      value = from_spelling<T>(document.get<std::string>());
    } else if constexpr (std::is_same_v<T, json>) {
      value = document;
    } else if constexpr (std::is_same_v<T, std::string> || std::is_arithmetic_v<T>) {
      value = document.get<T>();
    } else if constexpr (IsOptional<T>::value) {
      if (document.is_null()) {
        value.reset();
      } else {
        // Not `emplace()`: clang takes a nested type with member initializers for one without a default
        // constructor there.
        value = typename T::value_type{};
        read(document, *value, where);
      }
    } else if constexpr (IsVector<T>::value) {
      if (!document.is_array()) throw PlanError("the plan is incomplete: " + where + " is not a list");
      value.clear();
      for (const json& element : document)
        read(element, value.emplace_back(), where + "[" + std::to_string(value.size() - 1) + "]");
    } else {
      Reader reader(document, where);
      fields(reader, value);
      reader.finish();
    }
  } catch (const PlanError&) {
    throw;
  } catch (const std::exception& error) {
    throw PlanError("the plan cannot be read at " + where + ": " + error.what());
  }
}

constexpr const char* kFormat = "loop-plan";

}  // namespace

const UpdateRule* Plan::rule_of(const StepRule& step) const {
  for (const UpdateRule& rule : rules) {
    if (rule.name == step.optimizer) return &rule;
  }
  return nullptr;
}

std::string content_hash(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char byte : bytes) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 0x100000001b3ULL;
  }
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out(16, '0');
  for (int i = 15; i >= 0; --i, hash >>= 4U) out[static_cast<size_t>(i)] = kDigits[hash & 15U];
  return out;
}

std::string plan_hash(const Plan& plan) {
  return content_hash(std::to_string(plan.version) + "\n" + write(plan).dump());
}

json to_json(const Plan& plan) {
  json document;
  document["format"] = kFormat;
  document["version"] = plan.version;
  document["hash"] = plan_hash(plan);
  document["plan"] = write(plan);
  return document;
}

Plan from_json(const json& document) {
  if (!document.is_object() || document.value("format", "") != kFormat)
    throw PlanError("this is not a plan written by loopc");
  const auto version = document.find("version");
  if (version == document.end() || !version->is_number_integer())
    throw PlanError("the plan does not say its version");
  if (version->get<int>() != kPlanVersion) {
    throw PlanError("the plan has version " + std::to_string(version->get<int>()) +
                    ", this program reads version " + std::to_string(kPlanVersion) +
                    "; make it anew with `loopc plan --json`");
  }
  const auto body = document.find("plan");
  if (body == document.end()) throw PlanError("the plan is incomplete: plan is missing");
  Plan plan;
  read(*body, plan, "plan");
  if (document.value("hash", "") != plan_hash(plan)) {
    throw PlanError(
        "the plan does not match its own hash: it was changed after loopc wrote it; make it anew with `loopc "
        "plan --json`");
  }
  return plan;
}

void refuse_if_stale(const Plan& plan) {
  for (const SpecFile& spec : plan.spec_files) {
    std::ifstream file(spec.path, std::ios::binary);
    if (!file) continue;  // the plan has travelled without its spec
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (content_hash(text) != spec.hash) {
      throw PlanError("the plan is stale: " + spec.path +
                      " has changed since it was made; make it anew with `loopc plan --json`");
    }
  }
}

}  // namespace loop::plan
