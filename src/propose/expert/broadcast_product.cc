#include "propose/expert/broadcast_product.h"

#include <algorithm>
#include <vector>

namespace hone::expert {

std::optional<BroadcastProduct> BroadcastProductOf(const Memory& memory, const Piece& piece) {
  if (!piece.fold || !piece.statistics.empty() || !piece.also.empty() || !IsPlain(memory, piece) ||
      !IsContraction(memory, *piece.fold))
    return std::nullopt;
  const auto loads = memory.Loads(piece.fold->body);
  std::vector<IndexVar> space;
  for (const IndexVar& var : piece.space) {
    if (std::ranges::any_of(loads, [&](const FlatLoad& load) { return load.position->of(var) != 0; }))
      space.push_back(var);
  }
  if (ElementCount(Extents(space)) == ElementCount(Extents(piece.space))) return std::nullopt;
  BroadcastProduct made{.product = piece, .map = piece};
  made.product.space = space;
  made.product.fold->finish = Value(kIt, ScalarType::kReal);
  made.map.fold.reset();
  const Expr read = Load(piece.buffer, {ToExpr(OwnPosition(space), space)}, ScalarType::kReal);
  made.map.value = ReplaceValue(piece.fold->finish, kIt, read);
  return made;
}

}  // namespace hone::expert
