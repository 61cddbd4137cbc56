// Which sums of products a device's oracle makes by tiles (generated_code/product_tiles.cuh): matrix products with
// their batches, convolutions, products of groups. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "expr/expr.h"
#include "oracle/fold_range.h"

namespace hone {

// An index of the result is a row if only the left side reads it, a column if only the right one does. Otherwise it is
// a batch, unless it is a row that the right side reads through `keys` alone, whole numbers that many neighbouring rows
// have in common: the number of a group.
struct ProductTiles {
  const ExprNode* fold = nullptr;
  Expr left, right;  // the factors of a term, in no order
  std::vector<IndexVar> batches, rows, columns;
  std::vector<Expr> keys;
  FoldRange range;  // of the terms, where all results of a batch have it in common
  // Whether a factor's neighbouring terms lie side by side in memory, rather than neighbouring rows or columns.
  bool left_by_fold = false, right_by_fold = false;

  // Tiles along the rows and the columns.
  std::int64_t RowTiles() const;
  std::int64_t ColumnTiles() const;
  std::int64_t Tiles() const;  // of all batches
};

inline constexpr std::int64_t kTile = 64;  // results each way, as in generated_code/product_tiles.cuh

std::int64_t Extent(const std::vector<IndexVar>& vars);

// `fold` is the only one in the value of a stage with the indices `vars`. Nothing if it is no sum of products, or is
// not worth tiles. `exact` says what carries no rounding.
std::optional<ProductTiles> TilesOf(const std::vector<IndexVar>& vars, const ExprNode& fold,
                                    const std::function<bool(const Expr&)>& exact);

}  // namespace hone
