// Few elements of a product whose rows are folded otherwise: the score of what was wanted, beside the logarithm of the
// sum of all scores' exponentials. Made again, as sums of their own, they leave the product to be folded as it is made.
#include <set>

#include "propose/expert/normalise.h"
#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {

Scores ScoresOf(const Memory& memory, const std::vector<Piece>& pieces, std::size_t product,
                const std::function<std::vector<std::size_t>(int buffer)>& readers) {
  constexpr std::int64_t kFew = 64;  // times as many elements has the product
  const std::int64_t elements = ElementCount(Extents(pieces[product].space));
  Scores scores;
  std::vector<std::size_t> next = {product};
  bool largest = false;
  while (!next.empty()) {
    const int buffer = pieces[next.back()].buffer;
    next.pop_back();
    if (memory.IsOutput(buffer)) return {};
    for (const std::size_t reader : readers(buffer)) {
      const Piece& piece = pieces[reader];
      const std::int64_t count = ElementCount(Extents(piece.space));
      if (piece.fold) {
        if (IsContraction(memory, *piece.fold)) return {};
        largest |= piece.fold->op == ReduceOp::kMax;
      } else if (!piece.is_map()) {
        return {};
      } else if (count * kFew <= elements) {
        scores.picks.insert(reader);
      } else if (count > elements) {
        return {};
      } else if (scores.maps.insert(reader).second) {
        next.push_back(reader);
      }
    }
  }
  return largest ? scores : Scores();
}

namespace {

std::optional<Piece> PickedAsItIs(const Memory& memory, const Piece& map, const Piece& product) {
  Expr picked;
  bool one = true;
  Visit(map.value, [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kLoad || memory.Root(node.buffer) != product.buffer) return;
    const Expr load = Load(node.buffer, node.operands, node.type);
    one &= !picked || SameExpr(picked, load);
    picked = load;
  });
  if (!picked || !one) return std::nullopt;
  Piece element = product;
  element.fold.reset();
  element.value = product.fold->body;
  const auto body = ElementAt(memory, element, *picked);
  element.value = product.fold->finish;
  const auto end = ElementAt(memory, element, *picked);
  if (!body || !end) return std::nullopt;
  Piece made = map;
  made.value = Expr();
  made.fold = product.fold;
  std::vector<IndexVar>& over = made.fold->over;
  for (auto& var : over) var = NewIndex(var.extent);
  made.fold->body = Simplify(InIndices(*body, product.fold->over, over));
  made.fold->finish = Simplify(ReplaceLoads(
      map.value, [&](const ExprNode& load) { return memory.Root(load.buffer) == product.buffer ? *end : Expr(); }));
  return made;
}

}  // namespace

std::optional<Piece> Picked(const Memory& memory, const Piece& map, const Piece& product) {
  if (auto made = PickedAsItIs(memory, map, product)) return made;
  const auto apart = WithDimensionsOf(memory, product, map);
  return apart ? PickedAsItIs(memory, *apart, product) : std::nullopt;
}

}  // namespace hone::expert
