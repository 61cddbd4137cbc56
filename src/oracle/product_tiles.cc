#include "oracle/product_tiles.h"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

namespace hone {
namespace {

// A tile's time is that of its kTile x kTile results, whatever is beside them: where less than a quarter of those of
// all tiles are results, a thread for each comes as far. It takes a few tens of terms until what a tile shares pays for
// its barriers. Longer sums than 2^20 are taken in blocks (kBlock of generated_code/numbers.h), which tiles do not do.
constexpr std::int64_t kFewestTerms = 32, kMostTerms = 1 << 20, kMostTileShare = 4;
// Below, tiles leave most of a device idle, and a block for each result comes as far, though it takes an honest sum's
// terms one after another, 44 ns each on an H200 (2026-11-27); a tile takes 100 ns for a term of all its results.
constexpr std::int64_t kFewestResults = 1 << 13;
// Rows and columns are counted in 32 bits.
constexpr std::int64_t kMostRows = std::int64_t{1} << 31;
// Rows that have a key in common, where the key says so itself: a tile is made for each key.
constexpr std::int64_t kFewestRowsOfKey = kTile / kMostTileShare;

using Ids = std::set<int>;

Ids IndicesOf(const Expr& e) {
  Ids ids;
  Visit(e, [&](const ExprNode& node) {
    if (node.kind == Expr::Kind::kIndex) ids.insert(node.index.id);
  });
  return ids;
}

bool AnyOf(const Ids& some, const Ids& others) {
  return std::any_of(some.begin(), some.end(), [&](int id) { return others.contains(id); });
}

// Whether a key is the same of many neighbours: read from memory, where that is seen when it runs, or made of what is
// left of indices divided by numbers that are large enough.
bool IsShared(const Expr& key) {
  if (HasLoad(key)) return true;
  std::unordered_set<const ExprNode*> seen;
  const auto shared = [&](const auto& self, const Expr& e) -> bool {
    if (!seen.insert(e.get()).second) return true;
    if (e->kind == Expr::Kind::kIndex) return false;
    if (e->kind == Expr::Kind::kBinary && e->binary == BinaryOp::kFloorDiv &&
        e->operands[0]->kind == Expr::Kind::kIndex && e->operands[1]->kind == Expr::Kind::kConst &&
        e->operands[1]->whole >= kFewestRowsOfKey) {
      return true;
    }
    return std::all_of(e->operands.begin(), e->operands.end(), [&](const Expr& of) { return self(self, of); });
  };
  return shared(shared, key);
}

// The largest whole numbers in an expression that hang on some of `rows` and on none of `others`; what reads a row
// otherwise takes it out of `rows`.
struct KeyFinder {
  Ids& rows;
  const Ids& others;
  std::vector<Expr> keys;
  std::unordered_set<const ExprNode*> seen;

  void Walk(const Expr& e) {
    if (!seen.insert(e.get()).second) return;
    const Ids ids = IndicesOf(e);
    if (!AnyOf(ids, rows)) return;
    if (e->type == ScalarType::kInt && !AnyOf(ids, others) && !HasReduce(e) && IsShared(e)) {
      const auto same = [&](const Expr& key) { return SameExpr(key, e); };
      if (std::none_of(keys.begin(), keys.end(), same)) keys.push_back(e);
      return;
    }
    if (e->kind == Expr::Kind::kIndex) rows.erase(e->index.id);
    for (const auto& operand : e->operands) Walk(operand);
  }
};

const IndexVar* Fastest(const std::vector<IndexVar>& vars) {
  const auto it = std::find_if(vars.rbegin(), vars.rend(), [](const IndexVar& var) { return var.extent > 1; });
  return it == vars.rend() ? nullptr : &*it;
}

// Along what the elements of a side lie in memory: of the fastest index of its rows and that of the fold, the one that
// comes last where it loads them; of the two of a convolution, the place rather than the tap.
bool LiesByFold(const Expr& side, const std::vector<IndexVar>& rows, const std::vector<IndexVar>& over) {
  const IndexVar *row = Fastest(rows), *fold = Fastest(over);
  bool by_fold = false;
  Visit(side, [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kLoad || node.type != ScalarType::kReal) return;
    for (std::size_t d = node.operands.size(); d-- > 0;) {
      const Ids ids = IndicesOf(node.operands[d]);
      const bool by_row = row != nullptr && ids.contains(row->id), by_term = fold != nullptr && ids.contains(fold->id);
      if (!by_row && !by_term) continue;
      by_fold = by_term && !(by_row && row->extent > fold->extent);
      return;
    }
  });
  return by_fold;
}

bool IsWorth(const ProductTiles& tiles) {
  const std::int64_t rows = Extent(tiles.rows), columns = Extent(tiles.columns), terms = Extent(tiles.fold->over);
  if (rows >= kMostRows || columns >= kMostRows || terms < kFewestTerms || terms > kMostTerms) return false;
  const std::int64_t results = Extent(tiles.batches) * rows * columns;
  return results >= kFewestResults && tiles.Tiles() * kTile * kTile <= kMostTileShare * results;
}

// The rows are what `left` alone reads, and what `keyed` of the indices of both may be.
std::optional<ProductTiles> Divided(const std::vector<IndexVar>& vars, const ExprNode& fold, const Expr& left,
                                    const Expr& right, const Ids& keyed, std::vector<Expr> keys,
                                    const std::optional<FoldRange>& range) {
  ProductTiles tiles{.fold = &fold, .left = left, .right = right, .keys = std::move(keys)};
  const Ids in_left = IndicesOf(left), in_right = IndicesOf(right);
  for (const auto& var : vars) {
    const bool is_left = in_left.contains(var.id), is_right = in_right.contains(var.id);
    (keyed.contains(var.id) || (is_left && !is_right) ? tiles.rows
     : is_right && !is_left                           ? tiles.columns
                                                      : tiles.batches)
        .push_back(var);
  }
  const auto of_batch = [&](const Expr& e) {
    const auto in_e = [&](const IndexVar& var) { return UsesIndex(e, var.id); };
    return e && std::none_of(tiles.rows.begin(), tiles.rows.end(), in_e) &&
           std::none_of(tiles.columns.begin(), tiles.columns.end(), in_e);
  };
  if (range && of_batch(range->begin)) tiles.range.begin = range->begin;
  if (range && of_batch(range->end)) tiles.range.end = range->end;
  tiles.left_by_fold = LiesByFold(left, tiles.rows, fold.over);
  tiles.right_by_fold = LiesByFold(right, tiles.columns, fold.over);
  if (!IsWorth(tiles)) return std::nullopt;
  return tiles;
}

}  // namespace

std::int64_t Extent(const std::vector<IndexVar>& vars) {
  std::int64_t product = 1;
  for (const auto& var : vars) product *= var.extent;
  return product;
}

std::int64_t ProductTiles::RowTiles() const { return (Extent(rows) + kTile - 1) / kTile; }
std::int64_t ProductTiles::ColumnTiles() const { return (Extent(columns) + kTile - 1) / kTile; }
std::int64_t ProductTiles::Tiles() const { return Extent(batches) * RowTiles() * ColumnTiles(); }

std::optional<ProductTiles> TilesOf(const std::vector<IndexVar>& vars, const ExprNode& fold,
                                    const std::function<bool(const Expr&)>& exact) {
  if (fold.kind != Expr::Kind::kReduce || fold.reduce != ReduceOp::kSum || fold.type != ScalarType::kReal)
    return std::nullopt;
  const Expr& term = fold.operands[0];
  if (term->kind != Expr::Kind::kBinary || term->binary != BinaryOp::kMul || term->type != ScalarType::kReal)
    return std::nullopt;
  const Expr &a = term->operands[0], &b = term->operands[1];
  if (a.get() == b.get()) return std::nullopt;  // a square is no contraction's product (nest_text.h, EmitTerm)
  const auto range = RangeOf(fold, exact);
  const Ids in_a = IndicesOf(a), in_b = IndicesOf(b);
  // Neighbouring threads make neighbouring columns: those along which results lie.
  const IndexVar* last = Fastest(vars);
  const bool turned = last != nullptr && in_a.contains(last->id) && !in_b.contains(last->id);
  if (auto tiles = Divided(vars, fold, turned ? b : a, turned ? a : b, {}, {}, range)) return tiles;
  for (const bool of_b : {true, false}) {
    const Expr &right = of_b ? b : a, &left = of_b ? a : b;
    const Ids &in_right = of_b ? in_b : in_a, &in_left = of_b ? in_a : in_b;
    Ids keyed, others;
    for (const auto& var : fold.over) others.insert(var.id);
    for (const auto& var : vars) {
      if (in_right.contains(var.id)) (in_left.contains(var.id) ? keyed : others).insert(var.id);
    }
    KeyFinder finder{keyed, others, {}};
    finder.Walk(right);
    std::erase_if(finder.keys, [&](const Expr& key) { return !AnyOf(IndicesOf(key), keyed); });
    if (keyed.empty() || finder.keys.empty()) continue;
    if (auto tiles = Divided(vars, fold, left, right, keyed, std::move(finder.keys), range)) return tiles;
  }
  return std::nullopt;
}

}  // namespace hone
