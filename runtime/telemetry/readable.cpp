#include "runtime/telemetry/readable.h"

#include <cmath>
#include <cstdio>

namespace loop::telemetry {

namespace {

template <class... Values>
std::string print(const char* format, Values... values) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

}  // namespace

std::string readable(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-3 || size >= 1e5)) return print("%.2e", value);
  if (size < 1) return print("%.4g", value);
  const int digits = size < 10 ? 3 : size < 100 ? 2 : 1;
  return print("%.*f", digits, value);
}

std::string readable_count(double value) {
  if (!std::isfinite(value)) return readable(value);
  if (value < 999.5) return print("%.0f", value);
  if (value < 999950) return print("%.1fk", value / 1e3);
  if (value < 999950e3) return print("%.1fM", value / 1e6);
  return print("%.1fG", value / 1e9);
}

std::string readable_bytes(double bytes) {
  if (!std::isfinite(bytes)) return readable(bytes);
  if (bytes < 1024) return print("%.0f B", bytes);
  const char* unit = "KiB";
  for (const char* next : {"MiB", "GiB", "TiB"}) {
    if (bytes < 1024 * 1024) break;
    bytes /= 1024;
    unit = next;
  }
  return print("%.4g %s", bytes / 1024, unit);
}

std::string readable_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  const auto total = static_cast<long long>(seconds + 0.5);
  const auto hours = total / 3600, minutes = total / 60 % 60, rest = total % 60;
  if (hours > 0) return print("%lld:%02lld:%02lld", hours, minutes, rest);
  return print("%lld:%02lld", minutes, rest);
}

}  // namespace loop::telemetry
