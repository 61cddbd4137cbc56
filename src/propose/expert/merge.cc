// As few dimensions as a piece's loads allow: the inner loops of its kernel are then as long as they can be.
#include <set>

#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

// Neighbours in `vars` (the piece's space or its folded indices) become one wherever every load walks them as one and
// `may` agrees; `became` hears of it.
void MergeNeighbours(const Memory& memory, Piece& piece, std::vector<IndexVar>& vars,
                     const std::function<bool(const IndexVar&, const IndexVar&)>& may = {},
                     const std::function<void(const IndexVar& inner, const IndexVar& merged)>& became = {}) {
  for (std::size_t d = 0; d + 1 < vars.size();) {
    const IndexVar outer = vars[d], inner = vars[d + 1];
    bool as_one = !may || may(outer, inner);
    EachExpr(std::as_const(piece), [&](const Expr& expr) {
      if (!as_one) return;
      for (const auto& load : memory.Loads(expr))
        as_one &= load.position->of(outer) == load.position->of(inner) * inner.extent;
    });
    if (!as_one) {
      ++d;
      continue;
    }
    const IndexVar merged = NewIndex(outer.extent * inner.extent);
    // outer -> 0 and inner -> merged: the outer's share is in the inner's stride.
    EachExpr(piece, [&](Expr& expr) {
      expr = Substitute(expr, [&](const IndexVar& var) {
        return var.id == outer.id ? Expr(0) : var.id == inner.id ? Expr(merged) : Expr();
      });
    });
    if (became) became(inner, merged);
    vars[d] = merged;
    vars.erase(vars.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    if (d > 0) --d;
  }
}

}  // namespace

void MergeDimensions(const Memory& memory, Piece& piece) {
  EachExpr(piece, [&](Expr& expr) { expr = memory.Flat(expr); });
  if (piece.fold) MergeNeighbours(memory, piece, piece.fold->over);
  if (piece.fold || piece.statistics.empty()) {
    MergeNeighbours(memory, piece, piece.space);
    for (auto& one : piece.also) one.space = piece.space;
    for (auto& statistic : piece.statistics) {
      statistic.space = piece.space;
      statistic.fold->over = piece.fold->over;
    }
    return;
  }
  std::set<int> folded;
  std::vector<bool> of_row;
  for (const auto& one : piece.also) of_row.push_back(IsOfRow(piece, one));
  for (const int axis : piece.axes) folded.insert(piece.space[static_cast<std::size_t>(axis)].id);
  MergeNeighbours(
      memory, piece, piece.space,
      [&](const IndexVar& outer, const IndexVar& inner) { return folded.count(outer.id) == folded.count(inner.id); },
      [&](const IndexVar& inner, const IndexVar& merged) {
        if (folded.count(inner.id)) folded.insert(merged.id);
      });
  piece.axes.clear();
  std::vector<IndexVar> kept, over;
  for (std::size_t d = 0; d < piece.space.size(); ++d) {
    const bool is_folded = folded.count(piece.space[d].id) > 0;
    if (is_folded) piece.axes.push_back(static_cast<int>(d));
    (is_folded ? over : kept).push_back(piece.space[d]);
  }
  for (auto& statistic : piece.statistics) {
    statistic.space = kept;
    statistic.fold->over = over;
  }
  for (std::size_t i = 0; i < piece.also.size(); ++i) piece.also[i].space = of_row[i] ? kept : piece.space;
}

}  // namespace hone::expert
