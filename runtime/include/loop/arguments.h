// Reads the arguments of a component (a model, a loss …) with checks whose messages name the component and
// the argument.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "loop/error.h"
#include "runtime/plan/plan.h"

namespace loop {

/// Usage: read every argument the component knows, then call `finish()`, which refuses the ones nobody read.
/// Absent and null arguments take the default; without a default they are an error. All failures are
/// loop::Error (findings).
class Arguments {
 public:
  /// `kind` is the word for messages: "model", "loss".
  Arguments(std::string kind, const plan::Component& component)
      : kind_(std::move(kind)), name_(component.name), values_(component.args) {}

  /// A whole number in [low, high]. 8 and 8.0 are both accepted, 8.5 is not.
  int64_t integer(const std::string& argument, std::optional<int64_t> otherwise, int64_t low,
                  int64_t high = std::numeric_limits<int64_t>::max()) {
    const plan::json* value = find(argument);
    if (!value) return required(argument, otherwise);
    return checked_integer(argument, *value, low, high);
  }

  /// A whole number, or nothing when the argument is absent.
  std::optional<int64_t> optional_integer(const std::string& argument,
                                          int64_t low = std::numeric_limits<int64_t>::min()) {
    const plan::json* value = find(argument);
    if (!value) return std::nullopt;
    return checked_integer(argument, *value, low, std::numeric_limits<int64_t>::max());
  }

  /// A number in [low, high), or in [low, inf) when `high` is infinite.
  double number(const std::string& argument, std::optional<double> otherwise, double low, double high) {
    const plan::json* value = find(argument);
    if (!value) return required(argument, otherwise);
    if (!value->is_number() || !(value->get<double>() >= low) || !(value->get<double>() < high)) {
      std::ostringstream range;
      range << "a number in [" << low << ", " << high << ")";
      refuse(argument, range.str(), *value);
    }
    return value->get<double>();
  }

  std::optional<double> optional_number(const std::string& argument) {
    const plan::json* value = find(argument);
    if (!value) return std::nullopt;
    if (!value->is_number()) refuse(argument, "a number", *value);
    return value->get<double>();
  }

  bool boolean(const std::string& argument, bool otherwise) {
    const plan::json* value = find(argument);
    if (!value) return otherwise;
    if (!value->is_boolean()) refuse(argument, "true or false", *value);
    return value->get<bool>();
  }

  /// One of `choices`; the first is the default.
  std::string choice(const std::string& argument, const std::vector<std::string>& choices) {
    const plan::json* value = find(argument);
    if (!value) return choices.front();
    if (value->is_string())
      for (const std::string& one : choices)
        if (*value == one) return one;
    std::string expected = "one of";
    for (const std::string& one : choices) expected += (&one == &choices.front() ? " " : ", ") + one;
    refuse(argument, expected, *value);
  }

  /// A list of whole numbers, each at least `low`.
  std::vector<int64_t> integers(const std::string& argument, int64_t low) {
    const plan::json* value = find(argument);
    if (!value) fail("needs the argument `" + argument + "`: a list of whole numbers such as [128, 128]");
    if (!value->is_array()) refuse(argument, "a list of whole numbers such as [128, 128]", *value);
    std::vector<int64_t> numbers;
    for (const plan::json& element : *value)
      numbers.push_back(checked_integer(argument, element, low, std::numeric_limits<int64_t>::max()));
    return numbers;
  }

  /// A list of numbers, each at least `low`; empty when absent.
  std::vector<double> optional_numbers(const std::string& argument, double low) {
    const plan::json* value = find(argument);
    if (!value) return {};
    if (!value->is_array()) refuse(argument, "a list of numbers", *value);
    std::vector<double> numbers;
    for (const plan::json& element : *value) {
      if (!element.is_number() || !(element.get<double>() >= low) || !std::isfinite(element.get<double>()))
        refuse(argument, "a list of finite numbers of at least " + plan::json(low).dump(), element);
      numbers.push_back(element.get<double>());
    }
    return numbers;
  }

  /// Refuses arguments that no call above asked for.
  void finish() const {
    for (const auto& [argument, value] : values_.items()) {
      if (known_.count(argument)) continue;
      std::string known;
      for (const std::string& one : known_) known += (known.empty() ? "" : ", ") + one;
      throw Error(ErrorKind::findings, kind_ + " " + name_ + " has no argument `" + argument + "`",
                  known.empty() ? "It takes none." : "It takes: " + known + ".");
    }
  }

  [[noreturn]] void fail(const std::string& what, const std::string& repair = "") const {
    throw Error(ErrorKind::findings, kind_ + " " + name_ + " " + what, repair);
  }

 private:
  const plan::json* find(const std::string& argument) {
    known_.insert(argument);
    const auto found = values_.find(argument);
    return found == values_.end() || found->is_null() ? nullptr : &*found;
  }

  template <class T>
  T required(const std::string& argument, const std::optional<T>& otherwise) const {
    if (!otherwise) fail("needs the argument `" + argument + "`");
    return *otherwise;
  }

  int64_t checked_integer(const std::string& argument, const plan::json& value, int64_t low,
                          int64_t high) const {
    std::string expected = "a whole number of at least " + std::to_string(low);
    if (low == std::numeric_limits<int64_t>::min()) expected = "a whole number";
    if (high != std::numeric_limits<int64_t>::max())
      expected = "a whole number from " + std::to_string(low) + " to " + std::to_string(high);
    int64_t number = 0;
    if (value.is_number_integer()) {
      number = value.get<int64_t>();
    } else {
      // 2^53: beyond it a floating-point number no longer holds every whole number.
      const bool whole = value.is_number() && std::abs(value.get<double>()) <= 9007199254740992.0 &&
                         std::trunc(value.get<double>()) == value.get<double>();
      if (!whole) refuse(argument, expected, value);
      number = static_cast<int64_t>(value.get<double>());
    }
    if (number < low || number > high) refuse(argument, expected, value);
    return number;
  }

  [[noreturn]] void refuse(const std::string& argument, const std::string& expected,
                           const plan::json& got) const {
    fail("takes `" + argument + "` as " + expected + ", not " + got.dump());
  }

  std::string kind_;
  std::string name_;
  plan::json values_;
  std::set<std::string> known_;
};

}  // namespace loop
