// Runs lists of operations as they are written.
#pragma once

#include "runtime/engine/micro_operations.h"
#include "runtime/engine/update_operations.h"

namespace loop::engine {

class Interpreter {
 public:
  Interpreter(MicroOperations& micro, UpdateOperations& update, const Objective& objective,
              const Clocks& clocks, RankSync& ranks)
      : micro_(micro), update_(update), objective_(objective), clocks_(clocks), ranks_(ranks) {}

  /// `micro` is null in an update block. An operation that belongs to the other block has its meaning where
  /// it stands.
  void run(const std::vector<plan::Operation>& operations, WindowState& window, MicroState* micro);

  /// How many `loss` operations these would run, decided without running any.
  int64_t losses(const std::vector<plan::Operation>& operations, const WindowState& window,
                 const MicroState& micro) const;

 private:
  void run(const plan::Operation& operation, WindowState& window, MicroState* micro);
  plan::Lookup names(const WindowState& window, const MicroState* micro) const;
  bool holds(const plan::Expression& condition, const WindowState& window, const MicroState* micro) const;

  MicroOperations& micro_;
  UpdateOperations& update_;
  const Objective& objective_;
  const Clocks& clocks_;
  RankSync& ranks_;
};

/// True when a block holds only operations of a micro-batch, so that running it again changes nothing but
/// gradients.
bool repeatable(const std::vector<plan::Operation>& micro);

}  // namespace loop::engine
