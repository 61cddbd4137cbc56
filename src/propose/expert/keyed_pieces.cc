#include "propose/expert/keyed_pieces.h"

#include "propose/expert/rewrite.h"
#include "propose/expert/unflatten.h"

namespace hone::expert {

std::optional<KeyedFold> KeyedFoldIn(const Piece& piece) {
  if (!piece.fold || !piece.inside.empty() || !piece.statistics.empty()) return std::nullopt;
  return KeyedFoldOf(*Reduce(piece.fold->op, piece.fold->over, piece.fold->body));
}

std::optional<Piece> PartOfKeyedFold(const Memory& memory, const Piece& whole, const Piece& map) {
  const Shape extents = Extents(whole.space);
  if (map.value->kind != Expr::Kind::kLoad || ElementCount(Extents(map.space)) >= ElementCount(extents))
    return std::nullopt;
  const auto position = memory.Position(*map.value);
  const auto places = position ? Unflatten(*position, map.space, extents) : std::nullopt;
  if (!places) return std::nullopt;
  Piece part = whole;
  part.buffer = map.buffer;
  part.space = map.space;
  EachExpr(part, [&](Expr& expr) {
    expr = Substitute(expr, [&](const IndexVar& var) -> Expr {
      for (std::size_t d = 0; d < extents.size(); ++d) {
        if (whole.space[d].id == var.id) return ToExpr((*places)[d], map.space);
      }
      return {};
    });
  });
  return KeyedFoldIn(part) ? std::optional(std::move(part)) : std::nullopt;
}

std::optional<Piece> WithRowsOfTerms(const Piece& piece, std::int64_t of_row) {
  const IndexVar along = piece.fold->over.back();
  if (of_row <= 1 || of_row >= along.extent || along.extent % of_row != 0) return std::nullopt;
  Piece split = piece;
  const IndexVar row = NewIndex(along.extent / of_row), place = NewIndex(of_row);
  split.fold->over.back() = row;
  split.fold->over.push_back(place);
  split.fold->body = Substitute(piece.fold->body, [&](const IndexVar& var) -> Expr {
    return var.id == along.id ? Expr(row) * Expr(of_row) + Expr(place) : Expr();
  });
  return split;
}

}  // namespace hone::expert
