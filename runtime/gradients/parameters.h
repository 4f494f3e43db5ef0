// Flat arenas: parameters and gradients of one group lie side by side in memory, `param.data` and
// `param.grad` are views.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loop/model.h"
#include "runtime/plan/plan.h"

namespace loop::gradients {

/// One unique trainable tensor (tied weights appear once, under their first name).
struct Slot {
  std::string name;                      // "blocks.0.norm1.weight"
  std::vector<std::string> other_names;  // of the same storage
  torch::Tensor parameter;  // the model's own tensor: its data is a view into the group's parameter arena,
                            // its grad one into the gradient arena
  std::vector<torch::Tensor> aliases;  // further tensor objects over the same elements, tied by hand
  int64_t offset = 0;                  // elements from the start of the arena
  int64_t size = 0;                    // elements
  bool touched = false;                // a backward reached it in the current window
  int64_t step = 0;                    // applied updates of this parameter
};

/// A maximal run of neighbouring slots that are touched and share their step count: updated by one kernel
/// launch.
struct Segment {
  int64_t offset = 0;
  int64_t size = 0;
  int64_t step = 0;  // updates applied before this one
  size_t first_slot = 0;
  size_t slot_count = 0;
};

struct ParameterGroup {
  std::string name;
  std::vector<Slot> slots;
  torch::Tensor parameters;           // [n], the run's dtype
  torch::Tensor gradients;            // [n]
  std::vector<torch::Tensor> states;  // [n] each, made by the update rule
  /// The gradient is this factor times what `gradients` holds: folded operations change the factor only, and
  /// the next pass over the memory applies it.
  double factor = 1;

  std::vector<Segment> touched_segments() const;
  /// Somebody wrote into memory behind autograd's back: tells those who rely on its content.
  void parameters_written() const;
  void gradients_written() const;
  /// A step wrote zeros over every touched slot.
  void gradients_zeroed();
  /// Writes zeros where they are not known to be, and sets the factor to 1.
  void zero_gradients();
  /// Brings the factor into memory.
  void settle();
  /// Euclidean norm of what the touched slots hold, without the factor.
  double raw_norm() const;

 private:
  std::optional<int64_t> zeroed_version_;  // of `gradients` when a step had zeroed it
  struct MeasuredNorm {
    int64_t version = 0;  // of `gradients`
    std::vector<bool> touched;
    double norm = 0;  // without the factor
  };
  mutable std::optional<MeasuredNorm> measured_;
};

/// Where a gradient first stopped being finite.
struct NonfiniteReport {
  std::string parameter;
  std::string group;
  explicit operator bool() const { return !parameter.empty(); }
};

/// All trainable parameters of a model, partitioned into groups by the plan's predicates.
class Parameters {
 public:
  /// Converts the model's floating-point tensors to `dtype` (buffers stay where they are), moves trainable
  /// parameters into arenas, sets requires_grad = false on frozen ones, installs hooks that set `touched`.
  /// No groups mean one group "all" of everything. A frozen group has no arena and does not appear in
  /// `groups()`. A tied tensor is matched by its first name. Throws loop::Error (findings), naming
  /// parameters, when the groups are no partition, one of them is empty, or nothing is left to train.
  Parameters(std::shared_ptr<Model> model, const std::vector<plan::Group>& groups, torch::Dtype dtype);
  ~Parameters();
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  std::vector<ParameterGroup>& groups() { return groups_; }
  const std::vector<ParameterGroup>& groups() const { return groups_; }
  ParameterGroup& group(const std::string& name);  // throws loop::Error (internal) when there is none
  int64_t trainable_elements() const;
  int64_t frozen_elements() const;

  /// The gradients of every group become zero. The touched bits stay: a zero gradient is not an absent one.
  void zero_gradients();
  /// Called when a window starts: no backward has reached anything yet.
  void clear_touched();
  /// `observer` is called within backward, on its thread, each time one of a slot's tensors has got what this
  /// backward adds to it (nothing, when its gradient is absent). One at a time; null removes it.
  void on_accumulated(std::function<void(const Slot&)> observer);
  /// Whether an operation passes over the memory, or changes the groups' factors and leaves it to the next
  /// pass.
  enum class Pass { now, folded };
  /// Multiplies the gradients of the named groups (all when empty) by `factor`.
  void scale_gradients(const std::vector<std::string>& group_names, double factor, Pass pass = Pass::now);
  /// Brings every group's factor into its memory.
  void settle();
  /// Whether a factor above 1 waits: memory that is finite may then stand for a gradient that is not.
  bool growing() const;
  /// Euclidean norm over the named groups' touched slots, accumulated in FP64; NaN or infinite when any
  /// gradient is. Reads the memory once until it changes.
  double gradient_norm(const std::vector<std::string>& group_names) const;
  /// Multiplies by min(1, limit/‖g‖) over the named groups together, without epsilon; a norm of 0 gives 1.
  /// Returns the norm before. When the norm is not finite nothing is changed: limit/∞ would turn every finite
  /// gradient into an innocent zero.
  double clip_norm(const std::vector<std::string>& group_names, double limit, Pass pass = Pass::now);
  /// Clamps every finite element to [-limit, limit]; returns how many were changed. Elements that are not
  /// finite stay, so that the step's verdict still sees them.
  int64_t clip_value(const std::vector<std::string>& group_names, double limit);
  /// The first touched slot whose memory holds something that is not finite, in order.
  NonfiniteReport first_nonfinite() const;
  /// Copies of the gradients, for tests and `verify`: all groups, one flat FP64 tensor in slot order.
  torch::Tensor flat_gradient() const;
  torch::Tensor flat_parameters() const;
  /// Throws loop::Error (internal), naming the parameter, when the model's parameter or its gradient no
  /// longer lies in the arena (something called `to(…)` on the model, or assigned `grad`): updates would then
  /// move memory nobody reads.
  void check_storage() const;

 private:
  struct Hooks;

  void install_hooks();
  std::vector<size_t> select(const std::vector<std::string>& group_names) const;

  std::shared_ptr<Model> model_;
  std::vector<ParameterGroup> groups_;
  std::shared_ptr<Hooks> hooks_;
  int64_t frozen_elements_ = 0;
};

}  // namespace loop::gradients
