// Each element, or several, from the same element of others: map.
#include "propose/expert/recognise/recognise.h"

namespace hone::expert::recogniser_map {
namespace {

std::optional<dsl::Statement> RecogniseMap(Names& names, const Piece& piece) {
  if (!piece.is_map()) return std::nullopt;
  auto term = names.Term(piece.value, piece.space, {});
  if (!term) return std::nullopt;
  dsl::Statement statement;
  statement.family = "map";
  statement.operands.push_back(std::move(*term));
  // The space has to be the operands' broadcast shape: what no operand has is made by none of them.
  Shape reached(piece.space.size(), 1);
  bool loads_nothing = true;
  EachExpr(piece, [&](const Expr& expr) {
    for (const auto& load : names.memory().Loads(expr)) {
      loads_nothing = false;
      for (std::size_t d = 0; d < reached.size(); ++d) {
        if (load.position->of(piece.space[d]) != 0) reached[d] = piece.space[d].extent;
      }
    }
  });
  if (!loads_nothing && reached != Extents(piece.space)) return std::nullopt;
  statement.target_shape = Extents(piece.space);
  for (const auto& one : piece.also) {
    auto value = names.Term(one.value, piece.space, {});
    if (!value) return std::nullopt;
    AddAlso(statement, std::move(*value));
  }
  return statement;
}

}  // namespace

HONE_ROW(Recogniser){.name = "map", .form = Form::kMerged, .place = 70, .recognise = RecogniseMap};

}  // namespace hone::expert::recogniser_map
