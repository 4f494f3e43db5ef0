#include "compiler/sema/units.h"

#include <array>

namespace loop::sema {
namespace {

constexpr std::array kUnits = {Unit{"micro_batches", Dim::micro_batches, 1},
                               Unit{"samples", Dim::samples, 1},
                               Unit{"positions", Dim::positions, 1},
                               Unit{"tokens", Dim::tokens, 1},
                               Unit{"updates", Dim::updates, 1},
                               Unit{"attempts", Dim::attempts, 1},
                               Unit{"epochs", Dim::epochs, 1},
                               Unit{"evaluations", Dim::evaluations, 1},
                               Unit{"samples_seen", Dim::samples_seen, 1},
                               Unit{"tokens_seen", Dim::tokens_seen, 1},
                               Unit{"s", Dim::seconds, 1},
                               Unit{"min", Dim::seconds, 60},
                               Unit{"h", Dim::seconds, 3600},
                               Unit{"B", Dim::bytes, 1},
                               Unit{"KiB", Dim::bytes, 1024.0},
                               Unit{"MiB", Dim::bytes, 1024.0 * 1024},
                               Unit{"GiB", Dim::bytes, 1024.0 * 1024 * 1024}};

constexpr std::array kSingulars = {Unit{"micro_batch", Dim::micro_batches, 1},
                                   Unit{"sample", Dim::samples, 1},
                                   Unit{"position", Dim::positions, 1},
                                   Unit{"token", Dim::tokens, 1},
                                   Unit{"update", Dim::updates, 1},
                                   Unit{"attempt", Dim::attempts, 1},
                                   Unit{"epoch", Dim::epochs, 1},
                                   Unit{"evaluation", Dim::evaluations, 1}};

struct ClockName {
  std::string_view name;
  plan::Clock clock;
  Dim dim;
};
constexpr std::array kClocks = {ClockName{"updates", plan::Clock::updates, Dim::updates},
                                ClockName{"attempts", plan::Clock::attempts, Dim::attempts},
                                ClockName{"micro_batches", plan::Clock::micro_batches, Dim::micro_batches},
                                ClockName{"epochs", plan::Clock::epochs, Dim::epochs},
                                ClockName{"samples", plan::Clock::samples, Dim::samples},
                                ClockName{"tokens", plan::Clock::tokens, Dim::tokens},
                                ClockName{"samples_seen", plan::Clock::samples_seen, Dim::samples_seen},
                                ClockName{"tokens_seen", plan::Clock::tokens_seen, Dim::tokens_seen},
                                ClockName{"evaluations", plan::Clock::evaluations, Dim::evaluations},
                                ClockName{"seconds", plan::Clock::seconds, Dim::seconds}};

}  // namespace

const Unit* find_unit(std::string_view name) {
  for (const Unit& unit : kUnits)
    if (unit.name == name) return &unit;
  for (const Unit& unit : kSingulars)
    if (unit.name == name) return &unit;
  return nullptr;
}

const std::vector<std::string>& unit_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const Unit& unit : kUnits) result.emplace_back(unit.name);
    return result;
  }();
  return names;
}

const char* name(Dim dim) {
  switch (dim) {
    case Dim::none:
      return "a plain number";
    case Dim::micro_batches:
      return "micro_batches";
    case Dim::samples:
      return "samples";
    case Dim::positions:
      return "positions";
    case Dim::tokens:
      return "tokens";
    case Dim::updates:
      return "updates";
    case Dim::attempts:
      return "attempts";
    case Dim::epochs:
      return "epochs";
    case Dim::evaluations:
      return "evaluations";
    case Dim::samples_seen:
      return "samples_seen";
    case Dim::tokens_seen:
      return "tokens_seen";
    case Dim::seconds:
      return "time (s, min, h)";
    case Dim::bytes:
      return "memory (B, KiB, MiB, GiB)";
  }
  return "";
}

std::string example(Dim dim) {
  switch (dim) {
    case Dim::none:
      return "1";
    case Dim::seconds:
      return "10 min";
    case Dim::bytes:
      return "2 GiB";
    case Dim::micro_batches:
      return "4 micro_batches";
    case Dim::samples:
      return "8 samples";
    case Dim::epochs:
      return "2 epochs";
    case Dim::evaluations:
      return "10 evaluations";
    case Dim::tokens:
      return "16_384 tokens";
    default:
      return std::string("100 ") + name(dim);
  }
}

std::optional<plan::Clock> clock_of(Dim dim) {
  for (const ClockName& entry : kClocks)
    if (entry.dim == dim) return entry.clock;
  return std::nullopt;
}

Dim dim_of(plan::Clock clock) {
  for (const ClockName& entry : kClocks)
    if (entry.clock == clock) return entry.dim;
  return Dim::none;
}

std::optional<plan::Clock> find_clock(std::string_view name) {
  for (const ClockName& entry : kClocks)
    if (entry.name == name) return entry.clock;
  return std::nullopt;
}

const std::vector<std::string>& clock_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const ClockName& entry : kClocks) result.emplace_back(entry.name);
    return result;
  }();
  return names;
}

}  // namespace loop::sema
