// A running mean that forgets, without the pull towards zero of its first values.
#pragma once

namespace loop::telemetry {

/// m_n = Σ β^(n-i) x_i / Σ β^(n-i): after the first value the mean is that value, not (1 - β) of it.
class DebiasedMean {
 public:
  explicit DebiasedMean(double beta = 0.9) : beta_(beta) {}
  void add(double value) {
    sum_ = beta_ * sum_ + value;
    weight_ = beta_ * weight_ + 1;
  }
  bool empty() const { return weight_ == 0; }
  /// 0 when nothing was added.
  double value() const { return weight_ == 0 ? 0 : sum_ / weight_; }

 private:
  double beta_;
  double sum_ = 0;
  double weight_ = 0;
};

}  // namespace loop::telemetry
