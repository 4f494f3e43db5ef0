#include "tests/fuzz/targets.h"

namespace loop::fuzz {

const std::vector<Target>& targets() {
  static const std::vector<Target> all = {
      {"parse", parse}, {"sema", sema}, {"fmt", fmt}, {"override", override_keys}, {"check", check}};
  return all;
}

}  // namespace loop::fuzz
