#include "runtime/data/arguments.h"

#include <algorithm>
#include <cmath>

#include "loop/error.h"

namespace loop::data {
namespace {

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

const plan::json* Arguments::find(const std::string& key) {
  known_.insert(key);
  const auto found = component_.args.find(key);
  return found == component_.args.end() || found->is_null() ? nullptr : &*found;
}

void Arguments::wrong(const std::string& key, const std::string& expected) const {
  const auto found = component_.args.find(key);
  const std::string problem =
      found == component_.args.end() ? "is missing" : "is " + found->dump() + ", which it cannot be";
  throw Error(ErrorKind::findings, component_.name + "(…): `" + key + "` " + problem, "give " + expected);
}

std::string Arguments::text(const std::string& key) {
  const plan::json* value = find(key);
  if (!value || !value->is_string() || value->get_ref<const std::string&>().empty())
    wrong(key, "a text in quotes");
  return value->get<std::string>();
}

std::string Arguments::choice(const std::string& key, const std::vector<std::string>& choices,
                              const std::string& fallback) {
  const plan::json* value = find(key);
  if (!value && !fallback.empty()) return fallback;
  if (value && value->is_string() && std::count(choices.begin(), choices.end(), value->get<std::string>())) {
    return value->get<std::string>();
  }
  wrong(key, "one of " + joined({choices.begin(), choices.end()}));
}

std::optional<int64_t> Arguments::integer(const std::string& key, int64_t at_least,
                                          const std::string& absent) {
  const plan::json* value = find(key);
  if (!value || *value == absent) return std::nullopt;
  if (value->is_number_integer() && value->get<int64_t>() >= at_least) return value->get<int64_t>();
  const double real = value->is_number() ? value->get<double>() : NAN;
  if (real >= static_cast<double>(at_least) && real == std::floor(real) && real < 9e15) {
    return static_cast<int64_t>(real);
  }
  wrong(key, "a whole number of " + std::to_string(at_least) + " or more");
}

double Arguments::number(const std::string& key, double fallback) {
  const plan::json* value = find(key);
  if (!value) return fallback;
  if (!value->is_number()) wrong(key, "a number");
  return value->get<double>();
}

std::vector<std::string> Arguments::names(const std::string& key) {
  const plan::json* value = find(key);
  std::vector<std::string> result;
  if (!value || *value == "none") return result;
  const auto add = [&](const plan::json& item) {
    if (item.is_string()) {
      result.push_back(item.get<std::string>());
    } else if (item.is_number() && item.get<double>() == std::floor(item.get<double>())) {
      result.push_back(std::to_string(static_cast<int64_t>(item.get<double>())));
    } else {
      wrong(key, "a column's name or number, or a list of them");
    }
  };
  if (value->is_array()) {
    for (const plan::json& item : *value) add(item);
  } else {
    add(*value);
  }
  return result;
}

Slice Arguments::slice(const std::string& key) {
  const plan::json* value = find(key);
  if (!value || *value == "all") return {};
  Slice slice;
  if (value->is_object() && value->contains("call") && value->contains("args")) {
    const plan::json& call = (*value)["call"];
    const plan::json& args = (*value)["args"];
    const bool named = call == "first" || call == "last";
    if (named && args.is_array() && args.size() == 1) {
      slice.kind = call == "first" ? Slice::Kind::first : Slice::Kind::last;
      if (args[0].is_number()) {
        slice.share = args[0].get<double>();
        if (slice.share > 0 && slice.share <= 1) return slice;
      } else if (args[0].is_object() && args[0].value("unit", "") == "samples" &&
                 args[0]["value"].is_number()) {
        slice.samples = args[0]["value"].get<int64_t>();
        if (slice.samples > 0) return slice;
      }
    }
  }
  wrong(key, "all, first(90%), last(10%), first(1000 samples) or last(1000 samples)");
}

void Arguments::refuse_others() const {
  for (const auto& [key, value] : component_.args.items()) {
    if (!known_.count(key)) {
      throw Error(ErrorKind::findings, component_.name + "(…) has no argument `" + key + "`",
                  "its arguments are " + joined(known_));
    }
  }
}

}  // namespace loop::data
