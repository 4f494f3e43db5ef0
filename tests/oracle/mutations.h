// Programs as short lists of tokens, the canonical ones, and everything within some edits of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/sema/spec.h"

namespace loop::oracle {

/// What stands around `micro` and `update` in a spec.
struct Setting {
  enum class Sync { written, manual, last, every };  // last, every: `micro` is not written
  enum class Size { three, one, ramp, tokens };
  enum class Unit { tokens, constant, window, micro_batch };

  int classes = 1;
  int groups = 1;
  bool fp16 = false;
  Sync sync = Sync::written;
  plan::ReduceMode reduce = plan::ReduceMode::sum;
  Size size = Size::three;
  int ranks = 0;       // 0: left open
  bool equal = false;  // counts known equal in full windows
  plan::Tail tail = plan::Tail::flush;
  Unit unit = Unit::tokens;  // of the first class
};
std::string to_text(const Setting& setting);

/// One operation, or one end of a block. `variant` chooses a mode, a factor, a scope.
struct Token {
  plan::OpKind kind;
  uint8_t variant = 0;
  enum class Part : uint8_t { whole, opens, closes } part = Part::whole;
  friend bool operator==(const Token&, const Token&) = default;
};

/// `micro` is [0, split), `update` is [split, end).
struct Tokens {
  std::vector<Token> all;
  size_t split = 0;
  friend bool operator==(const Tokens&, const Tokens&) = default;
};
uint64_t fingerprint(const Tokens& tokens);

/// The canonical loop of a setting with one clip by norm and one step per group.
Tokens canonical(const Setting& setting);

/// Loops that people write instead, right in some settings: a mean of means over K, weights by count, an
/// update inside `micro`, guards, clocks by hand.
std::vector<Tokens> transcriptions(const Setting& setting);

/// Whether a spec can hold these operations: its `update` is not empty, nor of steps alone (the compiler
/// would complete it), it names the counts it has, and a `micro` that is the compiler's is the compiler's.
bool can_be_written(const Setting& setting, const Tokens& tokens);

/// Calls `visit` for every program one edit away: an operation or a block's frame deleted, an operation
/// duplicated, an operation or one end of a block moved anywhere it may stand, a factor, mode, kind or scope
/// exchanged; with `insertions` also any operation put in anywhere.
void each_edit(const Setting& setting, const Tokens& tokens, bool insertions,
               const std::function<void(Tokens&&)>& visit);

/// Makes specs of one setting. The spec passes every family but those that judge the operations.
class SpecBuilder {
 public:
  explicit SpecBuilder(const Setting& setting);
  /// The spec with these operations; valid until the next call.
  const sema::Spec& build(const Tokens& tokens);
  const sema::Spec& spec() const { return spec_; }

 private:
  sema::Operation operation(const Token& token) const;
  size_t read(const std::vector<Token>& tokens, size_t from, size_t to, std::vector<sema::Operation>& out);

  Setting setting_;
  sema::Spec spec_;
  uint32_t place_ = 0;
};

/// The operations as they would be written.
std::string to_text(const sema::Spec& spec);

}  // namespace loop::oracle
