#include "oracle/sorted_ranks.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_set>

#include "oracle/product_tiles.h"

namespace hone {
namespace {

// Places are counted in 31 bits (generated_code/ranks.inc).
constexpr std::int64_t kMostPlaces = std::numeric_limits<std::int32_t>::max();

std::optional<SortedRanks> RanksOf(const std::vector<IndexVar>& vars, const ExprNode& fold, std::int64_t fewest_looks) {
  const auto ranked = RankedFoldOf(fold);
  if (!ranked || ranked->along.extent > kMostPlaces || ranked->along.extent == 0) return std::nullopt;
  if (ranked->element->type != ScalarType::kReal && ranked->element->type != ScalarType::kInt) return std::nullopt;
  SortedRanks ranks{.fold = *ranked, .others = {}};
  std::unordered_set<int> known{ranked->along.id};
  for (const auto& var : vars) {
    known.insert(var.id);
    if (var.id != ranked->along.id && UsesIndex(ranked->element, var.id)) ranks.others.push_back(var);
  }
  bool all_known = true;
  Visit(ranked->element, [&](const ExprNode& node) {
    all_known = all_known && (node.kind != Expr::Kind::kIndex || known.contains(node.index.id));
  });
  const double looks = static_cast<double>(Extent(vars)) * static_cast<double>(ranks.Count());
  if (!all_known || looks < static_cast<double>(fewest_looks)) return std::nullopt;
  return ranks;
}

}  // namespace

std::int64_t SortedRanks::Rows() const { return Extent(others); }

StageRanks RanksOf(const std::vector<IndexVar>& vars, const Expr& value, std::int64_t fewest_looks) {
  StageRanks made;
  if (!value) return made;
  VisitOuterFolds(value, [&](const ExprNode& fold) {
    auto found = RanksOf(vars, fold, fewest_looks);
    if (!found) return;
    made.folds[&fold] = made.ranks.size();
    made.ranks.push_back(std::move(*found));
  });
  return made;
}

}  // namespace hone
