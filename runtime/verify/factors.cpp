#include "runtime/verify/factors.h"

#include <algorithm>
#include <cmath>

namespace loop::verify {

namespace {

constexpr size_t kMostParts = 256;
constexpr int64_t kMostEquations = 20'000;
constexpr double kClose = 1e-5;

/// Every n-th element, so that there are enough equations and not many more.
torch::Tensor thinned(const torch::Tensor& flat) {
  const int64_t stride = std::max<int64_t>(1, flat.numel() / kMostEquations);
  return flat.slice(0, 0, flat.numel(), stride);
}

}  // namespace

bool Factors::right() const {
  return explains() && std::all_of(list.begin(), list.end(), [](const FoundFactor& one) {
           return std::abs(one.found - one.right) <= kClose * std::abs(one.right);
         });
}

std::optional<Factors> find_factors(const Setting& setting, const BigBatch& big,
                                    const torch::Tensor& gradient) {
  const engine::Objective& objective = *setting.parts.objective;
  const size_t parts = big.rows.size() * setting.ranks.size() * objective.terms().size();
  if (parts > kMostParts || static_cast<int64_t>(parts) > gradient.numel()) return std::nullopt;
  Factors result;
  std::vector<torch::Tensor> columns;
  for (Part& part : micro_gradients(setting)) {
    const torch::Tensor column = thinned(part.gradient).clone();
    if (!(column.norm().item<double>() > 0)) continue;
    const plan::LossTerm& term = objective.terms()[part.term];
    const double divisor = objective.divisor(static_cast<size_t>(term.count_class), big.counts);
    result.list.push_back({part.micro_batch, part.rank, part.term, part.counted, 0, term.weight / divisor});
    columns.push_back(column);
  }
  if (columns.empty()) return std::nullopt;
  const torch::Tensor matrix = torch::stack(columns, 1);
  const torch::Tensor scale = matrix.norm(2, 0);
  const torch::Tensor right = thinned(gradient).unsqueeze(1);
  const auto [solution, residuals, rank, singular] =
      torch::linalg_lstsq(matrix / scale, right, std::nullopt, "gelsd");
  if (rank.item<int64_t>() < static_cast<int64_t>(columns.size())) return std::nullopt;
  const torch::Tensor found = solution.squeeze(1) / scale;
  for (size_t i = 0; i < result.list.size(); ++i) {
    result.list[i].found = found[static_cast<int64_t>(i)].item<double>();
  }
  const double norm = right.norm().item<double>();
  result.residual =
      (torch::mv(matrix, found) - right.squeeze(1)).norm().item<double>() / (norm > 0 ? norm : 1);
  return result;
}

}  // namespace loop::verify
