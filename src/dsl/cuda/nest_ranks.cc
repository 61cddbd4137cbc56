#include "dsl/cuda/nest_ranks.h"

#include <algorithm>

#include "dsl/cuda/nest_element.h"

namespace hone::dsl {

std::optional<RankedNest> RankedFoldIn(const Kernel& kernel) {
  const auto nest = OneFold(kernel);
  if (!nest) return std::nullopt;
  auto ranked = RankedFoldOf(*nest->fold);
  // Of a row of one element the index is gone.
  if (!ranked || std::none_of(nest->element.indices.begin(), nest->element.indices.end(),
                              [&](const IndexVar& index) { return index.id == ranked->along.id; }))
    return std::nullopt;
  return RankedNest{nest->element, std::move(*ranked)};
}

bool RanksPay(const Kernel& kernel) {
  constexpr double kLooks = 1 << 24;  // what is done in the time that two kernels take to begin
  constexpr std::int64_t kShortRow = 256;
  const auto nest = RankedFoldIn(kernel);
  if (!nest) return false;
  const std::int64_t row = nest->fold.along.extent;
  return row > kShortRow && static_cast<double>(PointsOf(nest->element.indices)) * static_cast<double>(row) > kLooks;
}

}  // namespace hone::dsl
