// Anything: an element written out over named indices.
#include "propose/expert/recognise/recognise.h"

namespace hone::expert {

std::optional<dsl::Statement> RecogniseNest(Names& names, const Piece& piece) {
  if (!piece.statistics.empty()) return std::nullopt;
  Expr value = piece.value;
  if (piece.fold) {
    const Expr folded = Reduce(piece.fold->op, piece.fold->over, piece.fold->body);
    value =
        ReplaceLoads(piece.fold->finish, [&](const ExprNode& load) { return load.buffer == kIt ? folded : Expr(); });
  }
  dsl::Statement statement;
  statement.family = "nest";
  statement.target_shape = Extents(piece.space);
  std::vector<IndexVar> space = piece.space;
  if (space.empty()) space.push_back(NewIndex(1));  // a nest has an index
  const auto words = names.IndexNames(space.size(), {});
  std::map<int, std::string> indices;
  for (std::size_t d = 0; d < space.size(); ++d) {
    indices[space[d].id] = words[d];
    statement.loops.push_back({words[d], space[d].extent});
  }
  statement.target_shape = Extents(space);
  auto term = names.Nested(value, indices);
  if (!term) return std::nullopt;
  statement.operands.push_back(std::move(*term));
  if (piece.sequence >= 0) {
    statement.attributes["sequence"] = {piece.sequence};
    statement.attributes["along"] = {piece.along};
    statement.attributes["reversed"] = {piece.reversed ? 1 : 0};
  }
  return statement;
}

}  // namespace hone::expert
