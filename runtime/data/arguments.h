// A component's arguments, read with their types. Every mistake names the component and the argument.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/data/slice.h"
#include "runtime/plan/plan.h"

namespace loop::data {

/// Reads `component.args`. All members throw loop::Error (findings) for a value of the wrong form. A bare
/// name equal to the default's name (`context`, `none`, `all`) means the default.
class Arguments {
 public:
  explicit Arguments(const plan::Component& component) : component_(component) {}

  std::string text(const std::string& key);
  std::string choice(const std::string& key, const std::vector<std::string>& choices,
                     const std::string& fallback);
  /// Nothing when the argument is absent, null or the bare name `absent`.
  std::optional<int64_t> integer(const std::string& key, int64_t at_least, const std::string& absent);
  double number(const std::string& key, double fallback);
  /// One name or number, or a list of them; numbers become their digits.
  std::vector<std::string> names(const std::string& key);
  Slice slice(const std::string& key);

  /// Call last: an argument that nobody asked for is an error.
  void refuse_others() const;

 private:
  const plan::json* find(const std::string& key);
  [[noreturn]] void wrong(const std::string& key, const std::string& expected) const;

  const plan::Component& component_;
  std::set<std::string> known_;
};

}  // namespace loop::data
