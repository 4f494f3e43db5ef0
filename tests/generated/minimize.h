// Makes a failing text small enough to read.
#pragma once

#include <functional>
#include <string>

namespace loop::generated {

/// The smallest text found, by leaving out lines and then characters, for which `fails` still holds. At most
/// `tries` calls.
std::string minimize(std::string text, const std::function<bool(const std::string&)>& fails,
                     int tries = 4000);

}  // namespace loop::generated
