// One window from its first micro-batch to the clocks' tick.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "loop/source.h"
#include "runtime/data/window_former.h"
#include "runtime/engine/interpreter.h"
#include "runtime/engine/nonfinite.h"

namespace loop::engine {

/// A window that has been finished.
struct WindowResult {
  WindowState state;
  bool empty = false;  // nothing counted: zeroed, not updated
  bool applied = false;
  std::string skipped;  // why it was not applied
};

class WindowRunner {
 public:
  /// Everything must outlive it. `horizon`: planned updates, negative when unknown.
  WindowRunner(const plan::Plan& plan, const Source& train, Model& model, gradients::Parameters& parameters,
               const Objective& objective, const Steps& steps, Averages& averages, Clocks& clocks,
               int64_t horizon, distributed::Communicator& ranks = *distributed::alone());

  /// `next_batch` gives the window's micro-batches in order. Advances the clocks and averages that the plan
  /// does not advance itself. Throws loop::Error (training) for an empty window under `empty = error`.
  WindowResult run(const data::WindowPlan& window, const std::function<Batch()>& next_batch);

  /// Runs the window's micro-batches on this rank alone and reduces and applies nothing: to see what they
  /// take. Afterwards gradients are zero, and buffers, clocks and scaler what they were. Only for a plan
  /// whose `micro` is `repeatable`.
  void rehearse(const data::WindowPlan& window);

  /// The loss scaler, which a checkpoint keeps; null without fp16.
  amp::LossScaler* loss_scaler() { return scaler_ ? &*scaler_ : nullptr; }

  /// What this rank tells the others with every window.
  void on_flags(std::function<RankFlags()> flags) { ranks_.on_flags(std::move(flags)); }

  /// Called between the last micro-batch and the first update operation, with the accumulated gradient in
  /// place.
  void on_gradient(std::function<void(const WindowState&)> observer) { on_gradient_ = std::move(observer); }

 private:
  WindowState open(const data::WindowPlan& window);
  void run_micro_batch(size_t index, const Batch& batch, WindowState& state);
  void trace(const data::WindowPlan& window, WindowState& state, amp::LossScaler* scaler);
  std::optional<size_t> look_again(const data::WindowPlan& window, const WindowState& state,
                                   amp::LossScaler* scaler);
  void finish(WindowResult& result);
  Batch collate(const data::MicroBatchPlan& micro) const {
    return train_.collate(micro.samples, micro.padding_rows);
  }

  const plan::Plan& plan_;
  const Source& train_;
  Model& model_;
  gradients::Parameters& parameters_;
  const Objective& objective_;
  Averages& averages_;
  Clocks& clocks_;
  int64_t horizon_;
  RankSync ranks_;
  MicroOperations micro_operations_;
  UpdateOperations update_operations_;
  Interpreter interpreter_;
  bool counts_ahead_;
  std::optional<amp::LossScaler> scaler_;  // fp16
  std::set<std::string> written_ticks_;    // clocks that the plan advances itself
  std::set<std::string> written_averages_;
  std::function<void(const WindowState&)> on_gradient_;
};

}  // namespace loop::engine
