#include "runtime/gradients/parameters.h"

#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "loop/error.h"
#include "runtime/gradients/partition.h"
#include "runtime/gradients/passes.h"

namespace loop::gradients {

/// What the autograd hooks write to. A graph may outlive the `Parameters`: its hooks then find `targets`
/// gone.
struct Parameters::Hooks {
  struct Targets {
    std::vector<Slot*> slots;
    std::function<void(const Slot&)> observer;
  };
  std::shared_ptr<Targets> targets = std::make_shared<Targets>();
  std::vector<std::shared_ptr<void>> nodes;  // autograd holds its accumulation nodes only weakly
};

namespace {

/// One tensor of the model under all its names.
struct Unique {
  std::string name;
  std::vector<std::string> other_names;
  std::vector<torch::Tensor> tensors;  // distinct tensor objects over the same elements
};

bool same_object(const torch::Tensor& a, const torch::Tensor& b) {
  return a.unsafeGetTensorImpl() == b.unsafeGetTensorImpl();
}

std::vector<Unique> unique_parameters(const Model& model) {
  std::vector<Unique> all;
  std::map<const void*, size_t> by_object;
  std::map<std::tuple<const void*, std::vector<int64_t>, std::vector<int64_t>>, size_t> by_elements;
  for (const auto& item : model.named_parameters()) {
    const torch::Tensor& tensor = item.value();
    if (!tensor.defined() || !tensor.is_floating_point()) continue;  // an absent bias; an index table
    size_t index = all.size();
    if (const auto found = by_object.find(tensor.unsafeGetTensorImpl()); found != by_object.end()) {
      index = found->second;
    } else if (tensor.numel() > 0) {
      index =
          by_elements.try_emplace({tensor.data_ptr(), tensor.sizes().vec(), tensor.strides().vec()}, index)
              .first->second;
    }
    by_object.emplace(tensor.unsafeGetTensorImpl(), index);
    if (index == all.size()) {
      all.push_back({item.key(), {}, {tensor}});
      continue;
    }
    Unique& first = all[index];
    first.other_names.push_back(item.key());
    const bool known = std::any_of(first.tensors.begin(), first.tensors.end(),
                                   [&](const torch::Tensor& one) { return same_object(one, tensor); });
    if (!known) first.tensors.push_back(tensor);
  }
  return all;
}

/// Tensors that share a part of their memory cannot lie side by side in an arena; moving them apart would
/// untie them silently.
void refuse_partial_overlap(const std::vector<Unique>& all) {
  struct Range {
    const char* begin;
    const char* end;
    const std::string* name;
  };
  std::vector<Range> ranges;
  for (const Unique& one : all) {
    const torch::Tensor& tensor = one.tensors.front();
    if (tensor.numel() == 0) continue;
    int64_t last = 0;  // offset of the last element
    for (int64_t d = 0; d < tensor.dim(); ++d) last += (tensor.size(d) - 1) * tensor.stride(d);
    const char* begin = static_cast<const char*>(tensor.data_ptr());
    ranges.push_back({begin, begin + (last + 1) * static_cast<int64_t>(tensor.element_size()), &one.name});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].begin < ranges[i - 1].end)
      throw Error(
          ErrorKind::findings,
          "Parameters " + *ranges[i - 1].name + " and " + *ranges[i].name + " share a part of their memory",
          "Register the whole tensor once and take its parts in `forward`.");
}

void convert(torch::Tensor tensor, torch::Dtype dtype) {
  if (tensor.defined() && tensor.is_floating_point()) tensor.set_data(tensor.detach().to(dtype));
}

void freeze(Unique& one, torch::Dtype dtype) {
  for (torch::Tensor& tensor : one.tensors) {
    tensor.mutable_grad() = torch::Tensor();
    tensor.set_requires_grad(false);
  }
  // Converted once, so that tied tensor objects stay tied.
  const torch::Tensor data = one.tensors.front().detach().to(dtype);
  for (torch::Tensor& tensor : one.tensors) tensor.set_data(data);
}

ParameterGroup make_group(const std::string& name, const std::vector<Unique*>& members, torch::Dtype dtype) {
  ParameterGroup group;
  group.name = name;
  int64_t elements = 0;
  for (const Unique* member : members) elements += member->tensors.front().numel();
  group.parameters = torch::empty({elements}, dtype);
  group.gradients = torch::zeros({elements}, dtype);
  int64_t offset = 0;
  for (Unique* member : members) {
    Slot slot;
    slot.name = member->name;
    slot.other_names = member->other_names;
    slot.parameter = member->tensors.front();
    slot.aliases.assign(member->tensors.begin() + 1, member->tensors.end());
    slot.offset = offset;
    slot.size = slot.parameter.numel();
    const torch::Tensor data = group.parameters.narrow(0, offset, slot.size).view(slot.parameter.sizes());
    data.copy_(slot.parameter.detach());
    for (torch::Tensor& tensor : member->tensors) {
      tensor.mutable_grad() = torch::Tensor();  // one of another type would forbid the exchange of data
      tensor.set_data(data);
      tensor.mutable_grad() = group.gradients.narrow(0, offset, slot.size).view(tensor.sizes());
    }
    offset += slot.size;
    group.slots.push_back(std::move(slot));
  }
  return group;
}

/// Runs of neighbouring touched slots.
std::vector<Piece> touched_pieces(const ParameterGroup& group) {
  std::vector<Piece> pieces;
  bool open = false;
  for (const Slot& slot : group.slots) {
    if (slot.touched && open) {
      pieces.back().size += slot.size;
    } else if (slot.touched) {
      pieces.push_back({group.gradients, slot.offset, slot.size});
    }
    open = slot.touched;
  }
  return pieces;
}

std::vector<bool> touched_bits(const ParameterGroup& group) {
  std::vector<bool> bits;
  for (const Slot& slot : group.slots) bits.push_back(slot.touched);
  return bits;
}

int64_t version_of(const torch::Tensor& tensor) {
  return static_cast<int64_t>(tensor._version());
}

void written(const torch::Tensor& tensor) {
  tensor.unsafeGetTensorImpl()->bump_version();
}

}  // namespace

void ParameterGroup::parameters_written() const {
  written(parameters);
}

void ParameterGroup::gradients_written() const {
  written(gradients);
}

void ParameterGroup::gradients_zeroed() {
  written(gradients);
  zeroed_version_ = version_of(gradients);
}

void ParameterGroup::zero_gradients() {
  factor = 1;
  if (zeroed_version_ != version_of(gradients)) {
    torch::Tensor(gradients).zero_();
  } else {
    for (const Slot& slot : slots) {
      if (!slot.touched) gradients.narrow(0, slot.offset, slot.size).zero_();
    }
  }
  gradients_zeroed();
}

void ParameterGroup::settle() {
  if (factor != 1) torch::Tensor(gradients).mul_(factor);
  factor = 1;
}

double ParameterGroup::raw_norm() const {
  const int64_t version = version_of(gradients);
  std::vector<bool> touched = touched_bits(*this);
  if (!measured_ || measured_->version != version || measured_->touched != touched)
    measured_ = MeasuredNorm{version, std::move(touched), euclidean_norm(touched_pieces(*this))};
  return measured_->norm;
}

std::vector<Segment> ParameterGroup::touched_segments() const {
  std::vector<Segment> segments;
  bool open = false;
  for (size_t i = 0; i < slots.size(); ++i) {
    const Slot& slot = slots[i];
    if (slot.touched && open && segments.back().step == slot.step) {
      segments.back().size += slot.size;
      ++segments.back().slot_count;
    } else if (slot.touched) {
      segments.push_back({slot.offset, slot.size, slot.step, i, 1});
    }
    open = slot.touched;
  }
  return segments;
}

Parameters::Parameters(std::shared_ptr<Model> model, const std::vector<plan::Group>& groups,
                       torch::Dtype dtype)
    : model_(std::move(model)), hooks_(std::make_shared<Hooks>()) {
  if (dtype != torch::kFloat32 && dtype != torch::kFloat64)
    throw Error(ErrorKind::findings, "Parameters can only be fp32 or fp64 in this build",
                "Set `dtype = fp32`.");
  const torch::NoGradGuard no_grad;
  std::vector<Unique> all = unique_parameters(*model_);
  refuse_partial_overlap(all);

  std::vector<plan::Group> asked = groups;
  if (asked.empty()) asked.push_back({.name = "all", .predicate = {}, .frozen = false, .place = {}});

  // What the model itself has frozen is not trainable and belongs to no group.
  std::vector<Unique*> trainable;
  std::vector<Candidate> candidates;
  for (Unique& one : all) {
    const bool trains = std::any_of(one.tensors.begin(), one.tensors.end(),
                                    [](const torch::Tensor& tensor) { return tensor.requires_grad(); });
    if (!trains) {
      frozen_elements_ += one.tensors.front().numel();
      freeze(one, dtype);
      continue;
    }
    trainable.push_back(&one);
    candidates.push_back({one.name, one.other_names, one.tensors.front().dim()});
  }
  const std::vector<size_t> owners = partition(asked, candidates);

  for (size_t g = 0; g < asked.size(); ++g) {
    std::vector<Unique*> members;
    for (size_t i = 0; i < trainable.size(); ++i)
      if (owners[i] == g) members.push_back(trainable[i]);
    if (asked[g].frozen) {
      for (Unique* member : members) {
        frozen_elements_ += member->tensors.front().numel();
        freeze(*member, dtype);
      }
    } else {
      for (Unique* member : members)
        for (torch::Tensor& tensor : member->tensors) tensor.set_requires_grad(true);
      groups_.push_back(make_group(asked[g].name, members, dtype));
    }
  }
  if (groups_.empty())
    throw Error(ErrorKind::findings, "Every parameter of the model is frozen: there is nothing to train",
                "Leave at least one group without frozen(…).");
  for (const auto& buffer : model_->named_buffers()) convert(buffer.value(), dtype);
  install_hooks();
}

Parameters::~Parameters() = default;

void Parameters::install_hooks() {
  for (ParameterGroup& group : groups_) {
    for (Slot& slot : group.slots) {
      const size_t index = hooks_->targets->slots.size();
      hooks_->targets->slots.push_back(&slot);
      std::vector<torch::Tensor> tensors = slot.aliases;
      tensors.push_back(slot.parameter);
      for (const torch::Tensor& tensor : tensors) {
        auto node = torch::autograd::impl::grad_accumulator(tensor);
        // `gradients` is undefined when a backward passed by without a gradient for this parameter.
        node->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
            [targets = std::weak_ptr<Hooks::Targets>(hooks_->targets), index](
                const torch::autograd::variable_list& outputs,
                const torch::autograd::variable_list& gradients) {
              const auto alive = targets.lock();
              if (!alive) return outputs;
              Slot& slot = *alive->slots[index];
              if (!gradients.empty() && gradients.front().defined()) slot.touched = true;
              if (alive->observer) alive->observer(slot);
              return outputs;
            }));
        hooks_->nodes.push_back(std::make_shared<decltype(node)>(node));
      }
    }
  }
}

void Parameters::on_accumulated(std::function<void(const Slot&)> observer) {
  hooks_->targets->observer = std::move(observer);
}

ParameterGroup& Parameters::group(const std::string& name) {
  for (ParameterGroup& one : groups_)
    if (one.name == name) return one;
  throw Error(ErrorKind::internal, "There is no parameter group `" + name + "`");
}

std::vector<size_t> Parameters::select(const std::vector<std::string>& group_names) const {
  std::vector<size_t> selected;
  for (size_t g = 0; g < groups_.size(); ++g)
    if (group_names.empty() ||
        std::find(group_names.begin(), group_names.end(), groups_[g].name) != group_names.end())
      selected.push_back(g);
  for (const std::string& name : group_names)
    if (std::none_of(groups_.begin(), groups_.end(),
                     [&](const ParameterGroup& one) { return one.name == name; }))
      throw Error(ErrorKind::internal, "There is no parameter group `" + name + "`");
  return selected;
}

int64_t Parameters::trainable_elements() const {
  int64_t elements = 0;
  for (const ParameterGroup& one : groups_) elements += one.parameters.numel();
  return elements;
}

int64_t Parameters::frozen_elements() const {
  return frozen_elements_;
}

void Parameters::zero_gradients() {
  for (ParameterGroup& one : groups_) one.zero_gradients();
}

void Parameters::settle() {
  for (ParameterGroup& one : groups_) one.settle();
}

bool Parameters::growing() const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [](const ParameterGroup& one) { return !(std::abs(one.factor) <= 1); });
}

void Parameters::clear_touched() {
  for (ParameterGroup& one : groups_)
    for (Slot& slot : one.slots) slot.touched = false;
}

void Parameters::scale_gradients(const std::vector<std::string>& group_names, double factor, Pass pass) {
  for (const size_t g : select(group_names)) {
    groups_[g].factor *= factor;
    if (pass == Pass::now) groups_[g].settle();
  }
}

double Parameters::gradient_norm(const std::vector<std::string>& group_names) const {
  double norm = 0;
  for (const size_t g : select(group_names)) {
    const double one = std::abs(groups_[g].factor) * groups_[g].raw_norm();
    if (std::isnan(one)) return one;  // hypot(∞, NaN) is ∞
    norm = std::hypot(norm, one);
  }
  return norm;
}

double Parameters::clip_norm(const std::vector<std::string>& group_names, double limit, Pass pass) {
  const double norm = gradient_norm(group_names);
  if (std::isfinite(norm) && norm > limit) scale_gradients(group_names, limit / norm, pass);
  return norm;
}

int64_t Parameters::clip_value(const std::vector<std::string>& group_names, double limit) {
  int64_t changed = 0;
  for (const size_t g : select(group_names)) {
    groups_[g].settle();
    changed += clamp_finite(touched_pieces(groups_[g]), limit);
    groups_[g].gradients_written();
  }
  return changed;
}

NonfiniteReport Parameters::first_nonfinite() const {
  // One pass over whole runs first: the usual answer is "none".
  for (const ParameterGroup& one : groups_) {
    const std::vector<Piece> runs = touched_pieces(one);
    if (first_nonfinite_piece(runs) == runs.size()) continue;
    for (const Slot& slot : one.slots)
      if (slot.touched && first_nonfinite_piece({{one.gradients, slot.offset, slot.size}}) == 0)
        return {slot.name, one.name};
  }
  return {};
}

torch::Tensor Parameters::flat_gradient() const {
  std::vector<torch::Tensor> parts;
  for (const ParameterGroup& one : groups_)
    parts.push_back(one.gradients.to(torch::kFloat64).mul(one.factor));
  return torch::cat(parts);
}

torch::Tensor Parameters::flat_parameters() const {
  std::vector<torch::Tensor> parts;
  for (const ParameterGroup& one : groups_) parts.push_back(one.parameters.to(torch::kFloat64));
  return torch::cat(parts);
}

void Parameters::check_storage() const {
  for (const ParameterGroup& one : groups_) {
    const char* data = static_cast<const char*>(one.parameters.data_ptr());
    const char* gradient = static_cast<const char*>(one.gradients.data_ptr());
    const int64_t element_bytes = static_cast<int64_t>(one.parameters.element_size());
    for (const Slot& slot : one.slots) {
      std::vector<torch::Tensor> tensors = slot.aliases;
      tensors.push_back(slot.parameter);
      for (const torch::Tensor& tensor : tensors) {
        const bool in_place = tensor.scalar_type() == one.parameters.scalar_type() &&
                              tensor.data_ptr() == data + slot.offset * element_bytes &&
                              tensor.grad().defined() &&
                              tensor.grad().data_ptr() == gradient + slot.offset * element_bytes;
        if (!in_place && slot.size > 0)
          throw Error(ErrorKind::internal,
                      "Parameter " + slot.name +
                          " or its gradient was moved out of its group's memory after the start",
                      "Do not call `to(…)` or `zero_grad()` on the model, and do not assign `grad`, while it "
                      "trains.");
      }
    }
  }
  // A model may also have exchanged the tensor object itself.
  for (const auto& item : model_->named_parameters())
    for (const ParameterGroup& one : groups_)
      for (const Slot& slot : one.slots)
        if (slot.name == item.key() && !same_object(slot.parameter, item.value()))
          throw Error(ErrorKind::internal,
                      "Parameter " + slot.name + " was replaced by another tensor after the start",
                      "Change a parameter's values in place.");
}

}  // namespace loop::gradients
