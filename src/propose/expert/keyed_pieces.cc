#include "propose/expert/keyed_pieces.h"

namespace hone::expert {

std::optional<KeyedFold> KeyedFoldIn(const Piece& piece) {
  if (!piece.fold || !piece.inside.empty() || !piece.statistics.empty()) return std::nullopt;
  return KeyedFoldOf(*Reduce(piece.fold->op, piece.fold->over, piece.fold->body));
}

std::optional<Piece> PartOfKeyedFold(const Memory& memory, const Piece& whole, const Piece& map) {
  if (map.value->kind != Expr::Kind::kLoad || ElementCount(Extents(map.space)) >= ElementCount(Extents(whole.space)))
    return std::nullopt;
  const auto position = memory.Position(*map.value);
  auto part = position ? ReadAt(whole, *position, map.space) : std::nullopt;
  if (!part || !KeyedFoldIn(*part)) return std::nullopt;
  part->buffer = map.buffer;
  return part;
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
