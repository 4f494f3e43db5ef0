#include "compiler/check/typestate/choices.h"

namespace loop::check {

bool Choices::decide(const std::string& question) {
  const auto known = answers_.find(question);
  if (known != answers_.end()) return known->second;
  if (position_ == script_.size()) {
    // Beyond the limit every question is answered yes: these paths are covered by the ones before.
    if (script_.size() >= kMostOpen) return answers_[question] = true;
    script_.push_back(true);
  }
  return answers_[question] = script_[position_++];
}

bool Choices::next() {
  script_.resize(position_);
  while (!script_.empty() && !script_.back()) script_.pop_back();
  if (script_.empty()) return false;
  script_.back() = false;
  position_ = 0;
  answers_.clear();
  return true;
}

}  // namespace loop::check
