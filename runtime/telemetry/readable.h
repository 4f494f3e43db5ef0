// Numbers and times as a person reads them.
#pragma once

#include <cstdint>
#include <string>

namespace loop::telemetry {

/// Up to four significant digits; exponent form with three below 1e-3 and from 1e5 on: "2.345", "0.0015",
/// "2.00e-05".
std::string readable(double value);
/// "834", "12.3k", "4.5M".
std::string readable_count(double value);
/// "640 B", "1.93 GiB".
std::string readable_bytes(double bytes);
/// "0:07", "12:34", "3:02:01".
std::string readable_duration(double seconds);

}  // namespace loop::telemetry
